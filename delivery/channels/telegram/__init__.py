CHANNELS = {"telegram": ("kind.TelegramKind", "channel.TelegramChannel")}
