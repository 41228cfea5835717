"""A message as octets, ready for the wire but for its date. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache

from channels.email.dkim.keys import SigningKey
from channels.email.dkim.signing import sign


@dataclass(slots=True)
class MailMessage:
    """`sender` and `recipient` are the envelope. Its octets have CRLF line ends and no Date yet.

    They are in pieces, most of them the same for all messages of a letter: so they are handed to another
    process once. `has_dots`: whether a line may begin with one.
    """

    sender: str
    recipient: str
    subject: str
    pieces: Sequence[bytes]
    signing_keys: tuple[SigningKey, ...] = field(default=(), repr=False)
    has_dots: bool = True

    @property
    def needs_utf8(self) -> bool:
        """Whether only a server with SMTPUTF8 (RFC 6531) can take it: a local part is not ASCII,
        in the envelope or in the header (a From, where the envelope has a return address of ours)."""
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
        """The octets as sent at `now` (aware), signed where the sender's domain has keys."""
        dated = b"".join((_date(int(now.timestamp())), *self.pieces))
        return sign(dated, self.signing_keys, now) + dated if self.signing_keys else dated


@lru_cache(maxsize=16)
def _date(moment: int) -> bytes:
    return f"Date: {format_datetime(datetime.fromtimestamp(moment, UTC))}\r\n".encode()
