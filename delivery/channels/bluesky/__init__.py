CHANNELS = {"bluesky": ("kind.BlueskyKind", "channel.BlueskyChannel")}
