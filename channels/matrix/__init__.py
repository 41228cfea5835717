CHANNELS = {"matrix": ("spec.MatrixSpec", "session.MatrixChannel")}
