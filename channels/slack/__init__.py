CHANNELS = {
    "slack": ("spec.SlackSpec", "session.SlackChannel"),
    "mattermost": ("spec.MattermostSpec", "session.MattermostChannel"),
    "rocketchat": ("spec.RocketChatSpec", "session.RocketChatChannel"),
}
