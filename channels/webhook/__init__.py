CHANNELS = {"webhook": "bridge.WebhookBridge"}
