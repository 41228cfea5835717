"""What the Discord bot adds to earlier apps' admin pages."""


def install() -> None:
    """Nothing so far."""
