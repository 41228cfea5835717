CHANNELS = {"webpush": "channel.WebPushChannel"}
