from tests.reader.micropub.connected import connected, impatient, nothing_remembered, ours

SECOND_DATABASE = False

__all__ = ["connected", "impatient", "nothing_remembered", "ours"]
