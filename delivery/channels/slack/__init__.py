CHANNELS = {
    "slack": ("kind.SlackKind", "channel.SlackChannel"),
    "mattermost": ("kind.MattermostKind", "channel.MattermostChannel"),
    "rocketchat": ("kind.RocketChatKind", "channel.RocketChatChannel"),
}
