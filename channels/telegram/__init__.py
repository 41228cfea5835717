CHANNELS = {"telegram": ("spec.TelegramSpec", "session.TelegramChannel")}
