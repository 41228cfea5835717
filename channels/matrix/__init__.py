CHANNELS = {"matrix": "bridge.MatrixBridge"}
