CHANNELS = {"discord": "bridge.DiscordBridge", "discord_bot": "bot.DiscordBotBridge"}
