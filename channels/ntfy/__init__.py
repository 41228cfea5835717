CHANNELS = {"ntfy": "bridge.NtfyBridge"}
