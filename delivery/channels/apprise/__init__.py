CHANNELS = {"apprise": ("kind.AppriseKind", "channel.AppriseChannel")}
