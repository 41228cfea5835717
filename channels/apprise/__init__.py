CHANNELS = {"apprise": ("spec.AppriseSpec", "session.AppriseChannel")}
