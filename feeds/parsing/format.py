"""Rejects documents that no parser should see, and repairs others.

One invalid reference would cost the whole feed.
"""

import codecs
import json
import re
from contextlib import suppress
from enum import Enum, auto

import webencodings

from feeds.parsing.entry import ParseError

_REFERENCE = re.compile(rb"&#(?:[xX][0-9a-fA-F]+|[0-9]+);?")
# An emoji as its UTF-16 halves.
_PAIR = re.compile(
    rb"&#(x[dD][89abAB][0-9a-fA-F]{2}|5[56][0-9]{3});&#(x[dD][c-fC-F][0-9a-fA-F]{2}|5[67][0-9]{3});"
)
_LAST = 0x10FFFF
_AMPERSAND = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|&(?!#|[a-zA-Z][a-zA-Z0-9]{0,30};)", re.DOTALL
)
# WHATWG HTML §13.2.5.80.
_WINDOWS = {code: char for code in range(0x80, 0xA0) if (char := bytes([code]).decode("cp1252", "ignore"))}
MAX_BODY = 10_000_000
MAX_PROLOG_STEPS = 1_000
MAX_DECLARATIONS = 10_000
JUNK_BYTES = 20_000
# At least.
BYTES_PER_WRONG_ONE = 8
EMPTY_BODY = "The address answers with nothing. Check it in a browser, or try again later."
PAGE_NOT_FEED = (
    "This address is a web page, not a feed. Look there for a link called RSS or Atom and use the address it"
    " leads to."
)
NOT_A_FEED = "What this address answers is neither RSS nor Atom. Check it in a browser."
DECLARES_ENTITIES = (
    "The feed declares entities in a DOCTYPE mixed into its posts, which can be an attack. Ask"
    " its publisher to leave it out."
)
HIDING = (
    "The feed says that it is in {}, an encoding that can hide what is in it. Ask its publisher to write it"
    " in UTF-8."
)
UNKNOWN_CHARSET = (
    "The feed says that it is in {}, which is no known encoding. It was read as {}. Check its accents, and"
    " ask its publisher to write it in UTF-8."
)
MOST_GUESSED = 100_000
FEED_TOO_LARGE = "The feed is larger than 10 MB. Ask its publisher for a shorter one."
_PAGE_ROOTS = frozenset({b"html", b"head", b"body", b"meta", b"script"})
# Only with an h-feed or h-entry.
_FRAGMENT_ROOTS = frozenset(
    b"title link style base div header main article section nav p h1 h2 a ul ol span".split()
)
_POSTS = re.compile(rb"\bh-(?:feed|entry)\b", re.IGNORECASE)
_JSON_START = re.compile(rb"\{\s*[\"}]|\[\s*[\[{\"\]]")
_SUBSET = re.compile(rb"<!DOCTYPE[^<>\[]{0,1000}\[", re.IGNORECASE)
# These may contain a bracket.
_WITHIN_SUBSET = re.compile(rb"[\"'\]]|<!--|<\?")
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_FEED_ROOTS = frozenset({b"rss", b"feed", b"rdf", b"rdf:rdf", b"atom:feed"})
_ROOT_NAME = re.compile(rb"<([A-Za-z_][A-Za-z0-9_:-]*)")
_START = re.compile(rb"<(?:\?xml|rss|feed|rdf:RDF|RDF|atom:feed)[\s>]", re.IGNORECASE)
_DECLARATION = re.compile(rb"<\?xml[^<>]{0,200}\?>")
_DECLARED = re.compile(rb"<\?xml[^>]{0,150}?\sencoding\s*=\s*[\"']([A-Za-z0-9_.:-]+)")
# ISO-2022 needs ESC, SO and SI.
_CONTROLS = bytes(set(range(32)) - {0x09, 0x0A, 0x0D, 0x0E, 0x0F, 0x1B})
# They can hide "<".
_HIDING_CODECS = frozenset({"utf-7", "unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined"})
_BLANK = b" \t\r\n\xef\xbb\xbf\xff\xfe"
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def escaped(body: bytes) -> bytes:
    """ "R&D", "?a=1&b=2"."""
    return _AMPERSAND.sub(lambda match: b"&amp;" if match.group() == b"&" else match.group(), body)


def mend(body: bytes) -> bytes:
    """Join halves of emoji and remove invalid references."""
    if b"&#" not in body:
        return body
    mended = {}
    for written in set(_REFERENCE.findall(body)):
        number = written[2:].rstrip(b";").lower()
        digits = number.lstrip(b"x").lstrip(b"0")
        code = int(digits or b"0", 16 if number.startswith(b"x") else 10) if len(digits) <= 7 else _LAST + 1
        # XML 1.0 §2.2.
        allowed = (
            code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0xFFFF < code <= _LAST
        )
        if code in _WINDOWS:
            mended[written] = b"&#%d;" % ord(_WINDOWS[code])
        else:
            mended[written] = written if allowed else b""
    if all(written == kept for written, kept in mended.items()):
        return body
    joined = _PAIR.sub(_joined, body)
    return _REFERENCE.sub(lambda match: mended.get(match.group(), match.group()), joined)


def _joined(match: re.Match[bytes]) -> bytes:
    high, low = (int(half[1:], 16) if half.startswith(b"x") else int(half) for half in match.groups())
    if 0xD800 <= high < 0xDC00 <= low < 0xE000:
        return b"&#%d;" % (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return match.group()


class Form(Enum):
    XML = auto()
    JSON = auto()
    PAGE = auto()


def form_of(body: bytes) -> Form:
    """Raise ParseError for documents that no parser should see."""
    if len(body) > MAX_BODY:
        raise ParseError(FEED_TOO_LARGE)
    if not body.strip(b"\0" + _BLANK):
        raise ParseError(EMPTY_BODY)
    text = _ascii(body)
    if _JSON_START.match(text[:JUNK_BYTES].lstrip(_BLANK)):
        return Form.JSON
    root, _ = _root(text)
    if root in _PAGE_ROOTS:
        return Form.PAGE
    if root in _FRAGMENT_ROOTS and has_posts(text) and not _START.search(text[:JUNK_BYTES]):
        return Form.PAGE
    return Form.XML


def has_posts(page: bytes) -> bool:
    return bool(_POSTS.search(_ascii(page)))


def is_page(body: bytes, content_type: str, *, refused: bool = False) -> bool:
    """Guess more loosely if `refused` as a feed: a page may start with text."""
    try:
        form, (root, _) = form_of(body), _root(_ascii(body))
    except ParseError:
        return False
    if form is not Form.XML or not refused:
        return form is Form.PAGE
    return root in _FRAGMENT_ROOTS or (root not in _FEED_ROOTS and "html" in content_type.lower())


def wide_text(body: bytes) -> str | None:
    return body.decode(json.detect_encoding(body), "replace").lstrip("\ufeff") if _is_wide(body) else None


def tidied(body: bytes) -> tuple[bytes, list[str]]:
    warnings: list[str] = []
    if _is_wide(body):
        with suppress(UnicodeError, LookupError):
            # Works for XML, too.
            body = body.decode(json.detect_encoding(body)).lstrip("\ufeff").encode("utf-8")
            if declared := _DECLARED.search(body[:1000]):
                body = body[: declared.start(1)] + b"utf-8" + body[declared.end(1) :]
        if _is_wide(body):
            _refuse_entities(body)
            return body, warnings
    root, place = _root(body)
    if root in _FEED_ROOTS:
        prolog = body.find(b"<?xml ", 0, place)
        junk = body[: prolog if prolog >= 0 else body.find(b"<")]
    else:
        start = _START.search(body[:JUNK_BYTES])
        junk = body[: start.start()] if start else b""
    if junk and junk not in _BOMS:
        body = body[len(junk) :]
        if junk.strip(_BLANK):
            warnings.append("There is something before the beginning of the feed; it was passed over.")
    kept = body.translate(None, _CONTROLS)
    if len(kept) < len(body):
        warnings.append("The feed has control characters, which XML does not allow; they were left out.")
    root, place = _root(kept)
    if root:
        # feedparser would search the rest forever.
        declaration = _DECLARATION.match(kept.lstrip(_BLANK))
        kept = (declaration.group() if declaration else b"") + b"\n" + kept[place:]
    else:
        _refuse_entities(kept)
        # So that it is no declaration.
        kept = b"\n" + kept
    return mend(_as_utf8(kept)), warnings


def _refuse_entities(body: bytes) -> None:
    """Documents here keep their prolog."""
    if _ENTITY.search(_ascii(body)):
        raise ParseError(DECLARES_ENTITIES)


def charset_header(body: bytes, content_type: str) -> tuple[str, list[str]]:
    """Return a media type, and warnings. Raise ParseError for encodings that hide tags."""
    if not _is_wide(body) and not body.isascii() and _is_utf8(body):
        return "application/xml; charset=utf-8", []
    declared = _DECLARED.search(_ascii(body[:1000]))
    parameter = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]+)", content_type, re.IGNORECASE)
    charset = declared.group(1).decode("ascii") if declared else parameter.group(1) if parameter else ""
    known = _codec(charset)
    if known in _HIDING_CODECS:
        raise ParseError(HIDING.format(charset))
    # WHATWG Encoding §4.2.
    standard = webencodings.lookup(charset)
    if standard and not _is_wide(body) and not standard.name.startswith("utf-"):
        return f"application/xml; charset={standard.codec_info.name}", []
    if charset and not known and not body.isascii():
        # Not at the start of this file: it loads slowly.
        from charset_normalizer import from_bytes

        guess = from_bytes(body[:MOST_GUESSED]).best()
        name = guess.encoding if guess else "windows-1252"
        return f"application/xml; charset={name}", [UNKNOWN_CHARSET.format(charset[:40], name)]
    return "application/xml" if declared or not known else f"application/xml; charset={charset}", []


def _codec(charset: str) -> str:
    try:
        return codecs.lookup(charset).name.replace("_", "-") if charset else ""
    except (LookupError, ValueError):
        return ""


def _as_utf8(body: bytes) -> bytes:
    """Read a few wrong bytes as Windows-1252."""
    declared = _DECLARED.search(body[:1000])
    if (
        _is_wide(body)
        or body.isascii()
        or _is_utf8(body)
        or (declared and _codec(declared.group(1).decode()) != "utf-8")
    ):
        return body
    strange = sum(char == "\ufffd" for char in body.decode("utf-8", "replace"))
    high = len(body.translate(None, bytes(range(128))))
    if strange * BYTES_PER_WRONG_ONE > high:
        return body
    return body.decode("utf-8", "feedletter-windows").encode("utf-8")


def _windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("feedletter-windows", _windows)


def _root(text: bytes) -> tuple[bytes, int]:
    """Return the first element's lower-case name and position.

    Raises ParseError for entities outside a closed DOCTYPE.
    """
    position = 0
    for _ in range(MAX_PROLOG_STEPS):
        position = text.find(b"<", position)
        if position < 0:
            return b"", 0
        if _ENTITY.match(text, position):
            raise ParseError(DECLARES_ENTITIES)
        if name := _ROOT_NAME.match(text, position):
            return name.group(1).lower(), position
        if subset := _SUBSET.match(text, position):
            position = _after_subset(text, subset.end())
            continue
        ends = {b"<!--": b"-->", b"<?": b"?>"}
        end = next((end for start, end in ends.items() if text.startswith(start, position)), b"<")
        position = text.find(end, position + 1)
        if position < 0:
            return b"", 0
    raise ParseError(NOT_A_FEED)


def _after_subset(text: bytes, position: int) -> int:
    """Return the end of a DOCTYPE's declarations (XML 1.0 §2.8), or their start."""
    start = position
    for _ in range(MAX_DECLARATIONS):
        match = _WITHIN_SUBSET.search(text, position)
        if match is None:
            break
        token = match.group()
        if token == b"]":
            return match.end()
        ends = {b"<!--": b"-->", b"<?": b"?>"}.get(token, token)
        end = text.find(ends, match.end())
        if end < 0:
            break
        position = end + len(ends)
    return start


def _ascii(body: bytes) -> bytes:
    return body.replace(b"\0", b"") if _is_wide(body) else body


def _is_wide(body: bytes) -> bool:
    return body[:2] in _BOMS[1:] or b"\0" in body[:4]


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
