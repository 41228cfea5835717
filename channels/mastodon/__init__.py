CHANNELS = {"mastodon": ("spec.MastodonSpec", "session.MastodonChannel")}
