CHANNELS = {"sms": "channel.SmsChannel"}
