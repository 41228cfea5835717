CHANNELS = {"activitypub": "channel.ActivityPubChannel"}
