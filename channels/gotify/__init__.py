CHANNELS = {"gotify": "bridge.GotifyBridge"}
