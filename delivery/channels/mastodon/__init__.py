CHANNELS = {"mastodon": ("kind.MastodonKind", "channel.MastodonChannel")}
