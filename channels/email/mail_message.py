"""Encoded message without its date."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache

from channels.email.dkim.keys import SigningKey
from channels.email.dkim.signing import sign


@dataclass(slots=True)
class MailMessage:
    """Octets have CRLF line ends, and no Date yet unless `is_dated`.

    `pieces` are mostly shared by a letter's messages, so another process gets them once. `has_dots`: a line
    may begin with a dot.
    """

    sender: str
    recipient: str
    subject: str
    pieces: Sequence[bytes]
    signing_keys: tuple[SigningKey, ...] = field(default=(), repr=False)
    has_dots: bool = True
    is_dated: bool = False

    @property
    def needs_utf8(self) -> bool:
        """Return whether SMTPUTF8 (RFC 6531) is required.

        The header counts too: the envelope may have our return address instead of a From.
        """
        if not (self.sender.isascii() and self.recipient.isascii()):
            return True
        for piece in self.pieces:
            end = piece.find(b"\r\n\r\n")
            if not (piece if end < 0 else piece[:end]).isascii():
                return True
            if end >= 0:
                break
        return False

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)

    def dated(self, now: datetime) -> bytes:
        return b"".join((self.head(now), *self.pieces))

    def head(self, now: datetime) -> bytes:
        """Return what precedes `pieces`: signatures, and the date."""
        if self.is_dated:
            return b""
        date = _date(int(now.timestamp()))
        return sign(b"".join((date, *self.pieces)), self.signing_keys, now) + date


@lru_cache(maxsize=16)
def _date(moment: int) -> bytes:
    return f"Date: {format_datetime(datetime.fromtimestamp(moment, UTC))}\r\n".encode()
