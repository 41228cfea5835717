"""Fields, parts and text of a parsed mail, with bounded length. Pure."""

import html
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses

MAX_FIELD = 2_000
MAX_TYPE = 5_000
MAX_BOUNDARIES = 2_000
# Parts times lines: ten parts and 25 MB, or 200 parts and 1 MB. A million take 0.3 seconds.
MOST_WORK = 5_000_000
MAX_MAIL_TEXT = 128_000
MOST_FIELD_ADDRESSES = 20
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Python has codecs that are slow or no charsets.
_CHARSETS = re.compile(
    r"utf-?8|us-ascii|ascii|iso-8859-\d{1,2}|windows-125\d|koi8-[ru]|iso-2022-(?:jp|kr)|shift_jis|cp932|euc-(?:jp|kr)"
    r"|gb2312|gbk|gb18030|big5|tis-620",
    re.IGNORECASE,
)
_STYLE = re.compile(r"<(style|script|head)\b[^<>]{0,500}>[^<]*", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,2000}>")


class Unreadable(ValueError):
    """Too deeply nested, or no mail."""


def parsed_mail(raw: bytes, *, most_parts: int) -> Message:
    """Parse a message of bounded structure. Raises Unreadable, and perhaps what the parser raises."""
    # Python's parser checks all open parts for each line, and searches parameters repeatedly.
    pattern = rb"^content-(?:type|disposition)[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*"
    types = re.findall(pattern, raw, re.IGNORECASE | re.MULTILINE)
    parts = sum(one[8:9] in b"tT" for one in types)
    if parts > most_parts or parts * raw.count(b"\n") > MOST_WORK:
        raise Unreadable(f"It has more than {most_parts} parts, or too many for its length.")
    if any(len(one) > MAX_TYPE for one in types):
        raise Unreadable(f"It has a Content-Type of more than {MAX_TYPE:,} characters.")
    if len(re.findall(rb"^--", raw, re.MULTILINE)) > MAX_BOUNDARIES:
        raise Unreadable(f"It has more than {MAX_BOUNDARIES:,} lines that may divide parts.")
    return message_from_bytes(raw)


def raw_field(message: Message, name: str) -> str:
    """Return the first raw value or ""."""
    return next(raw_fields(message, name), "")


def raw_fields(message: Message, name: str) -> Iterator[str]:
    return (utf8(value) for key, value in message.raw_items() if key.lower() == name)


def decoded_field(message: Message, name: str) -> str:
    return decoded_words(raw_field(message, name))


def decoded_words(text: str) -> str:
    """Decode encoded words (RFC 2047) of a value cut to MAX_FIELD, if possible."""
    text = text[:MAX_FIELD]
    try:
        return "".join(
            octets if isinstance(octets, str) else _decoded(octets, charset)
            for octets, charset in decode_header(text)
        )
    except (HeaderParseError, ValueError):
        return text


def addresses(message: Message, *names: str) -> list[str]:
    """Return up to MOST_FIELD_ADDRESSES addresses, in lower case."""
    texts = [value[:MAX_FIELD] for name in names for value in raw_fields(message, name)]
    return [address.lower() for _, address in getaddresses(texts[:10]) if "@" in address][
        :MOST_FIELD_ADDRESSES
    ]


def parts_of_type(message: Message, *types: str) -> Iterator[Message]:
    """Return parts of these types, not in enclosed messages."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        # Some programs omit the semicolon after it.
        if part.get_content_type().split()[0] in types:
            yield part
        elif part.get_content_maintype() == "multipart" and part.is_multipart():
            waiting += reversed(part.get_payload())  # type: ignore[arg-type]
        elif part.get_content_maintype() == "multipart" and "multipart/*" in types:
            yield part


def enclosed(message: Message) -> Iterator[Message]:
    """Return messages enclosed in full or as header."""
    for part in parts_of_type(message, "message/rfc822", "message/global", "text/rfc822-headers"):
        payload = part.get_payload()
        if isinstance(payload, list):
            yield from (piece for piece in payload[:1] if isinstance(piece, Message))


def copy_recipients(message: Message, without: Sequence[str] = ()) -> list[str]:
    """Return our letter's recipients, from its enclosed copy."""
    for letter in enclosed(message):
        if found := [address for address in addresses(letter, "to") if address not in without]:
            return found
    return []


def message_text(message: Message) -> str:
    """Return the plain text, else HTML without tags. A multipart with a wrong boundary is text."""
    # With Received fields it is a copy of a mail.
    own = parts_of_type(message, "text/plain", "multipart/*")
    plain = [part for part in own if part is message or "received" not in part]
    said = "\n".join(decoded_text(part) for part in plain[:10])[:MAX_MAIL_TEXT]
    if said.strip():
        return said
    pages = (_STYLE.sub(" ", decoded_text(part)) for part in parts_of_type(message, "text/html"))
    return "\n".join(html.unescape(_TAG.sub(" ", page)) for page in pages)[:MAX_MAIL_TEXT]


def decoded_payload(part: Message) -> bytes:
    octets = part.get_payload(decode=True)
    return octets if isinstance(octets, bytes) else b""


def utf8(value: object) -> str:
    """Decode surrogates, which Python's mail parser makes of non-ASCII octets."""
    return _undeclared(str(value).encode("utf-8", "surrogateescape"))


def _decoded(octets: bytes, charset: str | None) -> str:
    if charset and _CHARSETS.fullmatch(charset):
        with suppress(LookupError):
            return octets.decode(charset, "replace")
    return _undeclared(octets)


def _undeclared(octets: bytes) -> str:
    """Decode as UTF-8, or as Windows-1252 if nothing but ASCII is valid UTF-8, as old programs meant it."""
    text = octets.decode("utf-8", "replace")
    is_western = REPLACEMENT in text and text.replace(REPLACEMENT, "").isascii()
    return octets.decode("cp1252", "replace") if is_western else text


def decoded_text(part: Message, limit: int = MAX_MAIL_TEXT) -> str:
    return _decoded(decoded_payload(part)[: 4 * limit], part.get_content_charset())[:limit]
