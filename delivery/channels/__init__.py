"""The channels. Each registers its kind on start and is loaded in full on first use."""


def register_all() -> None:
    pass
