CHANNELS = {
    "slack": "bridge.SlackBridge",
    "mattermost": "bridge.MattermostBridge",
    "rocketchat": "bridge.RocketChatBridge",
}
