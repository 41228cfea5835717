CHANNELS = {"email": ("kind.EmailKind", "channel.EmailChannel")}
