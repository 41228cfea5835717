CHANNELS = {"apprise": ("spec.AppriseSpec", "channel.AppriseChannel")}
