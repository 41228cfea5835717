CHANNELS = {"telegram": ("spec.TelegramSpec", "channel.TelegramChannel")}
