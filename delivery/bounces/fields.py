"""Groups of report fields (RFC 3464 §2.1, RFC 5965 §3.1). Pure."""

import base64
import binascii
import quopri
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from email import message_from_string
from email.message import Message

from channels.rules.server_words import precise
from common.mail.parts import decoded_payload, raw_field, utf8
from common.text import one_line, shortened, without_controls
from delivery.rules.bounce_policy import BounceKind, kind_of

MAX_FINDINGS = 50
MAX_DIAGNOSTIC = 500
MAX_ADDRESS = 320
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_STATUS_FIELD = re.compile(
    r"(?:original-recipient|final-recipient|action|status|diagnostic-code)[ \t]*:", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class BounceFinding:
    """Finding about one recipient. `addresses`: ours if reported, then the one tried."""

    kind: BounceKind
    addresses: tuple[str, ...] = ()
    status: str = ""
    diagnostic: str = ""


def finding_in_words(
    addresses: Iterable[str], said: str, *, action: str = "failed", status: str = ""
) -> BounceFinding:
    """Return a finding by a server's words."""
    # Neither addresses nor database columns accept a NUL.
    usable = (address for address in addresses if address and without_controls(address) == address)
    known = tuple(dict.fromkeys(address[:MAX_ADDRESS] for address in usable))
    kind = kind_of(action=action, status=status, diagnostic=said)
    return BounceFinding(kind, known, precise(status, said), clean(said))


def clean(text: str) -> str:
    return shortened(one_line(text[: 8 * MAX_DIAGNOSTIC]), MAX_DIAGNOSTIC)


@dataclass(frozen=True, slots=True)
class Block:
    """Fields; names in lower case."""

    fields: tuple[tuple[str, str], ...]

    def all(self, name: str) -> list[str]:
        return [value for known, value in self.fields if known == name]

    def first(self, name: str) -> str:
        """Return the first value or ""."""
        return next(iter(self.all(name)), "")


def blocks(part: Message) -> Iterator[Block]:
    """Return groups separated by blank lines, from a message/… part."""
    pieces = part.get_payload()
    if isinstance(pieces, list):
        # Python's parser makes messages of groups and ignores the part's encoding.
        groups = []
        for piece in pieces:
            if isinstance(piece, Message):
                lines = [f"{name}: {utf8(value)}" for name, value in piece.raw_items()]
                rest = decoded_payload(piece).decode("utf-8", "replace")
                groups.append("\n".join([*lines, "", rest]).strip("\n"))
        text = "\n\n".join(groups)
        octets = text.encode("utf-8", "replace")
        encoding = raw_field(part, "content-transfer-encoding").strip().lower()
        with suppress(binascii.Error, ValueError):
            if encoding == "base64":
                text = base64.b64decode(octets).decode("utf-8", "replace")
            elif encoding == "quoted-printable":
                text = quopri.decodestring(octets).decode("utf-8", "replace")
    else:
        text = decoded_payload(part).decode("utf-8", "replace")
    for group in _BLANK_LINE.split(text.replace("\r\n", "\n"), 2 * MAX_FINDINGS)[: 2 * MAX_FINDINGS]:
        yield _block(group.lstrip("\n"))


def blocks_in_text(text: str) -> Iterator[Block]:
    """Return groups with a recipient, from a report without readable parts."""
    for group in _BLANK_LINE.split(text.replace("\r\n", "\n"), 4 * MAX_FINDINGS)[: 4 * MAX_FINDINGS]:
        lines = group.split("\n")
        start = next((n for n, line in enumerate(lines) if _STATUS_FIELD.match(line)), None)
        if start is not None:
            yield _block("\n".join(lines[start:]))


def address_in(value: str) -> str:
    """Parse `rfc822; ada@example.org`; RFC 6533 §3 writes other letters as \\x{17D}."""

    def decoded(match: re.Match[str]) -> str:
        number = int(match[1], 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else ""

    address = re.sub(r"\\x\{([0-9A-Fa-f]{2,6})\}", decoded, typed(value))
    return one_line(address.strip().strip("<>"))[:MAX_ADDRESS]


def typed(value: str) -> str:
    """Parse `smtp; 550 …`."""
    return value.partition(";")[2].strip() or value


def _block(text: str) -> Block:
    message = message_from_string(text + "\n\n")
    return Block(tuple((name.lower(), one_line(utf8(value))) for name, value in message.raw_items()))
