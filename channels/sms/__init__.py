CHANNELS = {"sms": ("spec.SmsSpec", "session.SmsChannel")}
