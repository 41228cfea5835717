CHANNELS = {"telegram": "bridge.TelegramBridge"}
