"""Corpus documents that are cut, joined or corrupted, as by a network, a disk or an attacker."""

from collections.abc import Callable
from functools import cache

from hypothesis import strategies as st

from common.text import words
from tests.feeds.corpus.documents import documents

# Python's text encodings, also ones that feeds never use, and codecs that are no text encodings.
ENCODINGS = sorted(
    words(
        "utf-8 utf-16 utf-16-le utf-16-be utf-32 utf-7 utf-8-sig ascii latin-1 cp1252 cp037 koi8-r"
        " shift_jis euc_jp iso2022_jp gb18030 big5 euc_kr hz punycode idna unicode_escape"
        " raw_unicode_escape rot13 hex base64 zlib undefined mbcs nonsense"
    )
)
TOKENS = (
    *("\0", "\x1b", "\x85", "\u2028", "\ufeff", "\ud800"),
    *sorted(
        words(
            "<item> </item> <entry> </entry> <rss> </channel> <guid> </guid> <![CDATA[ ]]> <!-- --> <!DOCTYPE"
            " <!ENTITY <?xml ?> &amp; &nbsp; &#0; &#xD800; &#x110000; &a; < > & \" ' = \\ / { } [ ] , : null"
            " 1e999 \\ud800 <html> <title> <link> <b xmlns=''> xml:base='http://[' </p> class='h-entry'"
            " <source> <image> <content type='xhtml'> mode='base64'> <div> </div> <textInput> <svg> <author>"
        )
    ),
)
LARGEST = 60_000

Change = Callable[[bytes, int, int, bytes], bytes]


def _cut(body: bytes, start: int, end: int, other: bytes) -> bytes:
    return body[:start] + body[end:]


def _kept(body: bytes, start: int, end: int, other: bytes) -> bytes:
    return body[start:end]


def _doubled(body: bytes, start: int, end: int, other: bytes) -> bytes:
    return body[:end] + body[start:]


def _often(body: bytes, start: int, end: int, other: bytes) -> bytes:
    piece = body[start:end] or b"<"
    return body[:start] + piece * min(200, 20_000 // len(piece) + 1) + body[end:]


def _spliced(body: bytes, start: int, end: int, other: bytes) -> bytes:
    return body[:start] + other[start:end] + body[end:]


def _joined(body: bytes, start: int, end: int, other: bytes) -> bytes:
    return body + other


def _flipped(body: bytes, start: int, end: int, other: bytes) -> bytes:
    if start >= len(body):
        return body
    return body[:start] + bytes([body[start] ^ (1 << end % 8)]) + body[start + 1 :]


def _told(body: bytes, start: int, end: int, other: bytes) -> bytes:
    token = TOKENS[end % len(TOKENS)].encode("utf-8", "surrogatepass")
    return body[:start] + token + body[start:]


def _recoded(body: bytes, start: int, end: int, other: bytes) -> bytes:
    try:
        return body.decode("utf-8", "replace").encode(ENCODINGS[start % len(ENCODINGS)], "ignore")
    except (LookupError, UnicodeError):
        return body


def _declared(body: bytes, start: int, end: int, other: bytes) -> bytes:
    name = ENCODINGS[start % len(ENCODINGS)].encode()
    _, _, rest = body.rpartition(b"?>")
    return b'<?xml version="1.0" encoding="' + name + b'"?>' + rest


CHANGES: tuple[Change, ...] = (
    *(_cut, _kept, _doubled, _often, _spliced, _joined),
    *(_flipped, _told, _recoded, _declared),
)


@cache
def bodies() -> tuple[bytes, ...]:
    return tuple(document.body for document in documents())


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """Draw a document after one to six changes, at most 60,000 bytes."""
    body = draw(st.sampled_from(bodies()))
    for change in draw(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=6)):
        start, end = sorted(draw(st.tuples(*[st.integers(0, max(len(body), 1))] * 2)))
        body = change(body, start, end, draw(st.sampled_from(bodies())))[:LARGEST]
    return body
