CHANNELS = {"sms": ("kind.SmsKind", "channel.SmsChannel")}
