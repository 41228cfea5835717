"""What a mail that came back says about one recipient, and how much of it is kept."""

from collections.abc import Iterable
from dataclasses import dataclass

from channels.rules.server_words import precise
from common.text import one_line, shortened, without_controls
from delivery.rules.bounce_policy import BounceKind, kind_of

MAX_FINDINGS = 50
MAX_DIAGNOSTIC = 500
MAX_ADDRESS = 320


@dataclass(frozen=True, slots=True)
class BounceFinding:
    """What a report says about one recipient.

    `addresses`: the address that we wrote, if the report tells it, then the one that was tried.
    """

    kind: BounceKind
    addresses: tuple[str, ...] = ()
    status: str = ""
    diagnostic: str = ""


def finding_in_words(
    addresses: Iterable[str], said: str, *, action: str = "failed", status: str = ""
) -> BounceFinding:
    """A finding that is judged by a server's words."""
    # No address has control characters, and no database column takes a NUL.
    usable = (address for address in addresses if address and without_controls(address) == address)
    known = tuple(dict.fromkeys(address[:MAX_ADDRESS] for address in usable))
    kind = kind_of(action=action, status=status, diagnostic=said)
    return BounceFinding(kind, known, precise(status, said), clean(said))


def clean(text: str) -> str:
    """The text in one line, as much of it as is kept."""
    return shortened(one_line(text[: 8 * MAX_DIAGNOSTIC]), MAX_DIAGNOSTIC)
