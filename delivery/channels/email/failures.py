"""What can go wrong with a connection, in a sentence's words."""

import os
import ssl

from delivery.channels.email.answers import words


class CannotConnect(Exception):
    """No connection that could take a message: network, TLS, greeting or login. One sentence."""


class Lost(Exception):
    """The connection ended or fell silent. `sent_all`: everything to be said had been said."""

    def __init__(self, text: str, *, sent_all: bool) -> None:
        super().__init__(text)
        self.sent_all = sent_all


def reason(error: Exception) -> str:
    """A socket's error, for people."""
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate was refused ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error})"
    # (asyncio's own words name the address once more.)
    number = getattr(error, "errno", None)
    said = os.strerror(number) if number and number > 0 else getattr(error, "strerror", None)
    return words(0, said or str(error) or type(error).__name__)
