CHANNELS = {"webhook": ("spec.WebhookSpec", "channel.WebhookChannel")}
