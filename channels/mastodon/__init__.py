CHANNELS = {"mastodon": "bridge.MastodonBridge"}
