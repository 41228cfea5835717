CHANNELS = {"ntfy": ("spec.NtfySpec", "channel.NtfyChannel")}
