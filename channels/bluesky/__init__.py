CHANNELS = {"bluesky": ("spec.BlueskySpec", "channel.BlueskyChannel")}
