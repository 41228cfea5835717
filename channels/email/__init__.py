CHANNELS = {"email": ("spec.EmailSpec", "channel.EmailChannel")}
