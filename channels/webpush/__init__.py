CHANNELS = {"webpush": ("spec.WebPushSpec", "channel.WebPushChannel")}
