CHANNELS = {"apprise": "bridge.AppriseBridge"}
