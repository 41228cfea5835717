CHANNELS = {"bluesky": "bridge.BlueskyBridge"}
