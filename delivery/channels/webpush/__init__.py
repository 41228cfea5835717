CHANNELS = {"webpush": ("kind.WebPushKind", "channel.WebPushChannel")}
