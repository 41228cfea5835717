CHANNELS = {"mastodon": ("spec.MastodonSpec", "channel.MastodonChannel")}
