CHANNELS = {"ntfy": ("spec.NtfySpec", "session.NtfyChannel")}
