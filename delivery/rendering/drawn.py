"""What a template makes: the parts of a letter before they are put together. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from common.text import shortened
from delivery.rendering.subjects import LONGEST_SUBJECT

MOST_OUTPUT = 5_000_000


@dataclass(frozen=True, slots=True)
class RenderedParts:
    """`html` has its styles inlined. `subject` is empty where the usual one is meant."""

    html: str
    text: str = ""
    subject: str = ""


def shortened_around(subject: str, tokens: Iterable[str]) -> str:
    """At most 200 characters besides the holes. No hole is cut, because its value comes later."""
    placeholders = "|".join(map(re.escape, tokens))
    pieces = re.split(f"({placeholders})", subject) if placeholders else [subject]
    room, kept = LONGEST_SUBJECT, []
    for number, piece in enumerate(pieces):
        if number % 2:
            kept.append(piece)
        elif room > 0:
            kept.append(shortened(piece, room) if len(piece) > room else piece)
            room -= len(piece)
    return "".join(kept)
