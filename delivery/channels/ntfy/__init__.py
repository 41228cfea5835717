CHANNELS = {"ntfy": ("kind.NtfyKind", "channel.NtfyChannel")}
