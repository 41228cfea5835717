CHANNELS = {"matrix": ("spec.MatrixSpec", "channel.MatrixChannel")}
