"""What a mail that comes back says of one recipient, and how much of it is kept."""

from collections.abc import Iterable
from dataclasses import dataclass

from common.text import one_line, shortened
from delivery.rules.bounce_policy import BounceKind, kind_of
from delivery.rules.server_words import precise

MAX_FINDINGS = 50
MAX_WORDS = 500
MAX_ADDRESS = 320


@dataclass(frozen=True, slots=True)
class Finding:
    """What the report says of one recipient. `addresses`: as we wrote it, if told, then as it was tried."""

    kind: BounceKind
    addresses: tuple[str, ...] = ()
    status: str = ""
    diagnostic: str = ""


def finding(addresses: Iterable[str], said: str, *, action: str = "failed", status: str = "") -> Finding:
    """A finding in a server's words."""
    known = tuple(dict.fromkeys(address[:MAX_ADDRESS] for address in addresses if address))
    kind = kind_of(action=action, status=status, diagnostic=said)
    return Finding(kind, known, precise(status, said), clean(said))


def clean(text: str) -> str:
    """The text in one line, as much of it as is kept."""
    return shortened(one_line(text[: 8 * MAX_WORDS]), MAX_WORDS)
