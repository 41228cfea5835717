"""Reads what comes back for a letter: delivery reports, complaints, automatic replies. Pure.

RFC 3464 (delivery status), RFC 6533 (the same with letters of all languages), RFC 5965 (complaints),
RFC 3834 (automatic replies), and the bounces of hosts that keep to none of them, by flufl.bounce.
"""

import base64
import binascii
import hashlib
import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_bytes, message_from_string
from email.message import Message
from email.utils import parseaddr

from flufl.bounce import all_failures

from common.text import one_line, shortened
from delivery.rules.bounce_policy import Kind, kind_of, precise, worst
from delivery.rules.verp import Token, tokens

MAX_BYTES = 2_000_000
# What loosely written bounces say stands at their beginning.
LOOSE_BYTES = 128_000
MAX_PARTS = 100
MAX_BOUNDARIES = 2_000
MAX_FINDINGS = 50
MAX_WORDS = 500
MAX_ADDRESS = 320


class Unreadable(ValueError):
    """No message can be made of it: it is nested too deeply, or is no mail. The message says which."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the report says of one recipient. `addresses`: as we wrote it, if told, then as it was tried."""

    kind: Kind
    addresses: tuple[str, ...] = ()
    status: str = ""
    diagnostic: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A Message-ID of ours: <mark.delivery@domain>."""

    delivery_id: int
    mark: str


@dataclass(frozen=True, slots=True)
class Report:
    """`tokens` and `marks` are what it names of ours; nothing of it is proven. `words` are its own."""

    kind: Kind
    findings: tuple[Finding, ...]
    tokens: tuple[Token, ...]
    marks: tuple[Mark, ...]
    words: str = ""


def read(raw: bytes) -> Report:
    """What a mail says, of its first MAX_BYTES. Raises Unreadable, and nothing else."""
    raw = raw[:MAX_BYTES]
    try:
        message = _parsed(raw)
        findings, words = _understood(message, raw)
    except Unreadable:
        raise
    except Exception as error:  # the mail parser and flufl.bounce were written for friendlier input
        raise Unreadable(f"It cannot be read as a mail ({type(error).__name__}).") from error
    kind = worst(finding.kind for finding in findings)
    return Report(kind, findings, tokens(raw), marks(raw), words)


def digest(raw: bytes, about: int | None = None) -> str:
    """The same for the same report about the same delivery, by whichever way it came: without what mail
    hosts add on top."""
    head, _, body = raw[:MAX_BYTES].replace(b"\r\n", b"\n").partition(b"\n\n")
    identity = re.search(rb"^message-id:[ \t]*(.{1,900})", head, re.IGNORECASE | re.MULTILINE)
    known = hashlib.sha256(identity[1].strip() if identity else b"")
    known.update(b"\0%d\0" % (about or 0) + body.rstrip())
    return known.hexdigest()


def marks(raw: bytes) -> tuple[Mark, ...]:
    """The Message-IDs in it that look like ours, each once, at most ten."""
    found = re.findall(rb"<([0-9a-f]{32})\.([1-9][0-9]{0,17})@[^<>\s]{1,255}>", raw)
    return tuple(dict.fromkeys(Mark(int(number), mark.decode("ascii")) for mark, number in found))[:10]


def _parsed(raw: bytes) -> Message:
    # The parser asks every open part about every line.
    if len(re.findall(rb"^content-type\s*:", raw, re.IGNORECASE | re.MULTILINE)) > MAX_PARTS:
        raise Unreadable(f"It has more than {MAX_PARTS} parts.")
    if len(re.findall(rb"^--", raw, re.MULTILINE)) > MAX_BOUNDARIES:
        raise Unreadable(f"It has more than {MAX_BOUNDARIES:,} lines that may divide parts.")
    message = message_from_bytes(raw)
    if not message.keys():
        raise Unreadable("It has no header: it is no mail.")
    return message


def _understood(message: Message, raw: bytes) -> tuple[tuple[Finding, ...], str]:
    words = _clean(f"{_header(message, 'subject')} — {_text(message)}")
    if found := _statuses(message) or _complaints(message):
        return found, words
    if _is_auto_reply(message):
        return (Finding(Kind.AUTO_REPLY),), words
    return _loose(message if len(raw) <= LOOSE_BYTES else message_from_bytes(raw[:LOOSE_BYTES])), words


def _parts(message: Message, *types: str) -> Iterator[Message]:
    """Parts of those types, which are not in an enclosed message."""
    waiting = [message]
    while waiting:
        part = waiting.pop(0)
        if part.get_content_type() in types:
            yield part
        elif part.get_content_maintype() == "multipart" and part.is_multipart():
            waiting += part.get_payload()  # type: ignore[arg-type]


# --- delivery status notifications


def _statuses(message: Message) -> tuple[Finding, ...]:
    found = []
    for part in _parts(message, "message/delivery-status", "message/global-delivery-status"):
        for block in _blocks(part):
            if "final-recipient" in block or "original-recipient" in block:
                found.append(_status(block))
            if len(found) == MAX_FINDINGS:
                break
    return tuple(found)


def _status(block: dict[str, str]) -> Finding:
    diagnostic = _typed(block.get("diagnostic-code", ""))
    status = block.get("status", "")
    named = (_address(block.get(name, "")) for name in ("original-recipient", "final-recipient"))
    return Finding(
        # RFC 3464 §2.3.3: required. A report without it is understood by its status, if that is one.
        kind_of(action=block.get("action", "").strip(), status=status, diagnostic=diagnostic),
        tuple(dict.fromkeys(address for address in named if address)),
        precise(status, diagnostic),
        _clean(diagnostic),
    )


def _blocks(part: Message) -> Iterator[dict[str, str]]:
    """The groups of fields, which blank lines separate; names in lower case, the first of each counts."""
    text = _report_text(part).replace("\r\n", "\n")
    for group in re.split(r"\n[ \t]*\n", text)[: 2 * MAX_FINDINGS]:
        yield _fields(message_from_string(group.lstrip("\n") + "\n\n"))


def _fields(message: Message) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in message.raw_items():
        fields.setdefault(name.lower(), one_line(_utf8(value)))
    return fields


def _report_text(part: Message) -> str:
    """The part's text. (The parser makes messages of its groups, without a look at its encoding.)"""
    payload = part.get_payload()
    if not isinstance(payload, list):
        return _payload(part)
    groups = []
    for piece in payload:
        if isinstance(piece, Message):
            lines = [f"{name}: {_utf8(value)}" for name, value in piece.raw_items()]
            groups.append("\n".join([*lines, "", _payload(piece)]).strip("\n"))
    encoding = _header(part, "content-transfer-encoding").strip().lower()
    text = "\n\n".join(groups)
    return _decoded(text, encoding) if encoding in ("base64", "quoted-printable") else text


def _payload(part: Message) -> str:
    """The content of a part that has no parts."""
    octets = part.get_payload(decode=True)
    return octets.decode("utf-8", "replace") if isinstance(octets, bytes) else ""


def _decoded(text: str, encoding: str) -> str:
    octets = text.encode("utf-8", "replace")
    try:
        plain = base64.b64decode(octets) if encoding == "base64" else quopri.decodestring(octets)
    except (binascii.Error, ValueError):
        return text
    return plain.decode("utf-8", "replace")


def _typed(value: str) -> str:
    """`smtp; 550 …` without its type."""
    return value.partition(";")[2].strip() or value


def _address(value: str) -> str:
    """`rfc822; ada@example.org` without its type; RFC 6533 §3 writes other letters as \\x{17D}."""
    address = re.sub(r"\\x\{([0-9A-Fa-f]{2,6})\}", _character, _typed(value))
    return one_line(address.strip().strip("<>"))[:MAX_ADDRESS]


def _character(match: re.Match[str]) -> str:
    number = int(match[1], 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else ""


# --- complaints

# RFC 5965 §7.3. “not-spam” is the opposite, “virus” and “other” are no wish of the reader.
_COMPLAINTS = frozenset({"abuse", "fraud", "opt-out", "opt-out-list"})


def _complaints(message: Message) -> tuple[Finding, ...]:
    for part in _parts(message, "message/feedback-report"):
        for block in _blocks(part):
            kind = block.get("feedback-type", "").strip().lower()
            if kind in _COMPLAINTS:
                whom = _address(block.get("original-rcpt-to", ""))
                said = _clean(f"{kind}: {block.get('user-agent', '')}")
                return (Finding(Kind.COMPLAINT, (whom,) if whom else (), "", said),)
            if kind:
                return (Finding(Kind.AUTO_REPLY if kind == "not-spam" else Kind.UNKNOWN),)
    return ()


# --- automatic replies

_DAEMONS = frozenset({"mailer-daemon", "mailerdaemon", "mail-daemon", "postmaster", "maildaemon"})
_AWAY = re.compile(
    r"out of (?:the )?office|auto(?:matic|matische)?[ -]?(?:reply|response|antwort)|abwesen|\bvacation\b"
    r"|on (?:holiday|leave)|réponse automatique|absence|respuesta automática|fuera de la oficina",
    re.IGNORECASE,
)


def _is_auto_reply(message: Message) -> bool:
    if _local_part(message) in _DAEMONS:
        return False
    submitted = _header(message, "auto-submitted").split(";")[0].strip().lower()
    answers = submitted.startswith(("auto-replied", "auto-notified"))  # RFC 3834 §5, RFC 5436 §2.7.1
    named = ("x-autoreply", "x-autorespond", "x-autoresponder", "x-auto-reply-from")
    if answers or any(name in message for name in named):
        return True
    return bool(_AWAY.search(_header(message, "subject"))) and _is_automatic(message, submitted)


def _is_automatic(message: Message, submitted: str) -> bool:
    """Whether anything besides its subject says that no person wrote it."""
    precedence = _header(message, "precedence").strip().lower()
    return (
        submitted not in ("", "no")
        or precedence in ("bulk", "junk", "list", "auto_reply")
        or "x-auto-response-suppress" in message
        or _header(message, "return-path").strip() == "<>"
    )


def _local_part(message: Message) -> str:
    return parseaddr(_header(message, "from"))[1].rpartition("@")[0].lower()


# --- bounces of no standard form


def _loose(message: Message) -> tuple[Finding, ...]:
    delayed, failed = all_failures(message)
    text = _text(message)
    found = [Finding(Kind.DELAYED, (_of_octets(address),)) for address in sorted(delayed)]
    for octets in sorted(failed):
        address = _of_octets(octets)
        said = _around(text, address)
        kind = kind_of(action="failed", status="", diagnostic=said)
        found.append(Finding(kind, (address,), precise("", said), _clean(said)))
    return tuple(found[:MAX_FINDINGS])


def _of_octets(address: bytes | str) -> str:
    text = address.decode("utf-8", "replace") if isinstance(address, bytes) else address
    return one_line(text)[:MAX_ADDRESS]


def _around(text: str, address: str) -> str:
    """The lines that speak of an address: from the one that names it, a few more."""
    lines = text.splitlines()
    at = next((n for n, line in enumerate(lines) if address.lower() in line.lower()), 0)
    return " ".join(lines[at : at + 5])[:2000]


def _text(message: Message) -> str:
    """The beginning of the first part that is text."""
    for part in _parts(message, "text/plain", "text/html"):
        return _payload(part)[:LOOSE_BYTES]
    return ""


def _header(message: Message, name: str) -> str:
    return next((_utf8(value) for key, value in message.raw_items() if key.lower() == name), "")


def _utf8(value: object) -> str:
    """What the parser kept of octets that are not ASCII."""
    return str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _clean(text: str) -> str:
    return shortened(one_line(text[: 8 * MAX_WORDS]), MAX_WORDS)
