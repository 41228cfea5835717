CHANNELS = {"gotify": ("spec.GotifySpec", "channel.GotifyChannel")}
