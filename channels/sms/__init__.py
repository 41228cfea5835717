CHANNELS = {"sms": ("spec.SmsSpec", "channel.SmsChannel")}
