CHANNELS = {
    "slack": ("spec.SlackSpec", "channel.SlackChannel"),
    "mattermost": ("spec.MattermostSpec", "channel.MattermostChannel"),
    "rocketchat": ("spec.RocketChatSpec", "channel.RocketChatChannel"),
}
