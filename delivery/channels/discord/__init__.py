CHANNELS = {
    "discord": ("kind.DiscordKind", "channel.DiscordChannel"),
    "discord_bot": ("kind.DiscordBotKind", "channel.DiscordBotChannel"),
}
