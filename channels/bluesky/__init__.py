CHANNELS = {"bluesky": "bridge.BlueskyBridge", "standard_site": "standard_site.StandardSiteChannel"}
