CHANNELS = {"matrix": ("kind.MatrixKind", "channel.MatrixChannel")}
