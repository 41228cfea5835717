CHANNELS = {
    "discord": ("spec.DiscordSpec", "channel.DiscordChannel"),
    "discord_bot": ("spec.DiscordBotSpec", "channel.DiscordBotChannel"),
}
