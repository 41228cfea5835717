CHANNELS = {"bluesky": ("spec.BlueskySpec", "session.BlueskyChannel")}
