from tests.reader.micropub.connected import connected, impatient, nothing_remembered, ours

__all__ = ["connected", "impatient", "nothing_remembered", "ours"]
