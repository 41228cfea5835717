CHANNELS = {"webhook": ("spec.WebhookSpec", "session.WebhookChannel")}
