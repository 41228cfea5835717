CHANNELS = {"gotify": ("spec.GotifySpec", "session.GotifyChannel")}
