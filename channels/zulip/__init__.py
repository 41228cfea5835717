CHANNELS = {"zulip": "bridge.ZulipBridge"}
