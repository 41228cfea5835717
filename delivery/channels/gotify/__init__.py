CHANNELS = {"gotify": ("kind.GotifyKind", "channel.GotifyChannel")}
