CHANNELS = {"webpush": ("spec.WebPushSpec", "session.WebPushChannel")}
