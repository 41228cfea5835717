"""What is refused before any parser sees it, and what is put right: prolog, junk, encoding."""

import re

from feeds.parsing.entry import ParseError
from feeds.parsing.references import mend

MAX_BODY = 10_000_000
MAX_PROLOG_STEPS = 1_000
JUNK_BYTES = 20_000

EMPTY = "The address answers with nothing. Check it in a browser, or try again later."
WEB_PAGE = (
    "This address is a web page, not a feed. Look there for a link called RSS or Atom and use the address it"
    " leads to."
)
NOT_A_FEED = "What this address answers is neither RSS nor Atom. Check it in a browser."
JSON = "This address answers JSON. Use the address of the site's RSS or Atom feed."
ENTITIES = (
    "The feed declares entities in a DOCTYPE, which can be an attack. Ask its publisher to leave them out."
)
TOO_LARGE = "The feed is larger than 10 MB. Ask its publisher for a shorter one."

_PAGE_ROOTS = frozenset({b"html", b"head", b"body", b"meta", b"script"})
_ROOT_NAME = re.compile(rb"<([A-Za-z_][A-Za-z0-9_:-]*)")
_START = re.compile(rb"<(?:\?xml|rss|feed|rdf:RDF|RDF|atom:feed)[\s>]", re.IGNORECASE)
_DECLARED = re.compile(rb"<\?xml[^>]*\sencoding\s*=\s*[\"']([A-Za-z0-9_.:-]+)")
# ESC, SO and SI stay: ISO-2022 texts consist of them.
_CONTROLS = bytes(set(range(32)) - {0x09, 0x0A, 0x0D, 0x0E, 0x0F, 0x1B})
_BLANK = b" \t\r\n\xef\xbb\xbf\xff\xfe"
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def admit(body: bytes) -> tuple[bytes, list[str]]:
    """The body with junk and control characters taken away, and warnings. Raises ParseError."""
    if len(body) > MAX_BODY:
        raise ParseError(TOO_LARGE)
    if not body.strip(b"\0" + _BLANK):
        raise ParseError(EMPTY)
    root = _root(_ascii(body))
    if root in _PAGE_ROOTS:
        raise ParseError(WEB_PAGE)
    if root == b"" and body.lstrip(_BLANK)[:1] in (b"{", b"["):
        raise ParseError(JSON)
    return _without_junk(body)


def charset_header(body: bytes, content_type: str) -> str:
    """The Content-Type to parse with. What the bytes say goes before what the server says of them."""
    if not _is_wide(body) and not body.isascii() and _is_utf8(body):
        return "application/xml; charset=utf-8"
    declared = _DECLARED.search(_ascii(body[:1000]))
    charset = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]+)", content_type, re.IGNORECASE)
    return "application/xml" if declared or not charset else f"application/xml; charset={charset.group(1)}"


def _without_junk(body: bytes) -> tuple[bytes, list[str]]:
    warnings: list[str] = []
    if _is_wide(body):
        return body, warnings
    start = _START.search(body[:JUNK_BYTES])
    junk = body[: start.start()] if start else b""
    if junk and junk not in _BOMS:
        body = body[len(junk) :]
        if junk.strip(_BLANK):
            warnings.append("There is something before the beginning of the feed; it was passed over.")
    kept = body.translate(None, _CONTROLS)
    if len(kept) < len(body):
        warnings.append("The feed has control characters, which XML does not allow; they were left out.")
    return mend(kept), warnings


def _root(text: bytes) -> bytes:
    """The lower-case name of the first element, b"" when there is none. Raises ParseError for entities."""
    position = 0
    for _ in range(MAX_PROLOG_STEPS):
        position = text.find(b"<", position)
        if position < 0:
            return b""
        if text[position : position + 8].upper() == b"<!ENTITY":
            raise ParseError(ENTITIES)
        if name := _ROOT_NAME.match(text, position):
            return name.group(1).lower()
        ends = {b"<!--": b"-->", b"<?": b"?>"}
        end = next((end for start, end in ends.items() if text.startswith(start, position)), b"<")
        position = text.find(end, position + 1)
        if position < 0:
            return b""
    raise ParseError(NOT_A_FEED)


def _ascii(body: bytes) -> bytes:
    """UTF-16 and UTF-32 made legible enough to look for names in."""
    return body.replace(b"\0", b"") if _is_wide(body) else body


def _is_wide(body: bytes) -> bool:
    return body[:2] in _BOMS[1:] or b"\0" in body[:4]


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
