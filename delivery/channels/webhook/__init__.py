CHANNELS = {"webhook": ("kind.WebhookKind", "channel.WebhookChannel")}
