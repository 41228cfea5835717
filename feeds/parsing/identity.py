"""Whether a post still says the same, and whether two addresses lead to the same post.

A digest is made of what a post means, not of when or where it stands. From an address everything is taken
away that makes no difference. So are the parameters of newsletters, ads and analytics: they say who clicked,
not what is there.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from feeds.parsing.entry import Entry
from feeds.parsing.pictures import SIGNING_PARAMETERS, file_key

# A star stands for any ending.
PARAMETERS = (
    "utm_*",
    "mtm_*",
    "pk_campaign",
    "pk_kwd",
    "pk_source",
    "pk_medium",
    "fbclid",
    "gclid",
    "gclsrc",
    "gbraid",
    "wbraid",
    "dclid",
    "msclkid",
    "yclid",
    "twclid",
    "ttclid",
    "li_fat_id",
    "igshid",
    "igsh",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "_hsenc",
    "_hsmi",
    "__hssc",
    "__hstc",
    "__hsfp",
    "hsctatracking",
    "vero_id",
    "oly_anon_id",
    "oly_enc_id",
    "ml_subscriber",
    "ml_subscriber_hash",
    "wickedid",
    "_openstat",
    "s_cid",
    "ns_campaign",
    "ns_mchannel",
    "ns_source",
    "ns_linkname",
    "srsltid",
)

MAX_REMEMBERED = 500

# An ampersand, however html writes it.
_AND = r"&(?:amp;|#0*38;|#x0*26;)?"
_NAMES = "|".join(re.escape(name).replace(r"\*", r"[\w.-]*") for name in PARAMETERS)
_TRACKED = re.compile(rf"(\A\?|{_AND})(?:(?:{_NAMES})=[^&#]*(?:{_AND}|(?!&)))+", re.IGNORECASE)
_ENDS_IN_AND = re.compile(rf"{_AND}\Z", re.IGNORECASE)
_TOKEN = re.compile(rf"(\A\?|{_AND})(?:{SIGNING_PARAMETERS})=[^&#]*", re.IGNORECASE)
# From the question mark to the end of the address. The pattern begins with one character, which is fast.
_QUERY = re.compile(r"\?[^\s\"'<>]+")
VERSION = "2"
_DEFAULT_PORTS = {80, 443}


def untracked(text: str) -> str:
    """An address, or a text with addresses in it (html, too), without the parameters that only track."""
    return _QUERY.sub(_without, text) if "?" in text else text


def _without(query: re.Match[str]) -> str:
    text = query.group()
    if "=" not in text:
        return text
    return _remembered(text) if len(text) <= MAX_REMEMBERED else _cleared(text)


def _cleared(query: str) -> str:
    return _TRACKED.sub(lambda found: found[1] if _ENDS_IN_AND.search(found[0]) else "", query)


# A feed says the same in most of its links.
_remembered = lru_cache(maxsize=1_000)(_cleared)


def content_hash(entry: Entry) -> str:
    """ "2:" and the hex SHA-256 over title, authors, link, content, summary, media and categories.

    Left out is what may change without making a difference: dates, tracking parameters of addresses anywhere
    in it, tokens of addresses, lengths and sizes of files, the amount of white space, and a name that is said
    twice.
    """
    content, summary = _html(entry.content), _html(entry.summary)
    heading = [
        _text(entry.title),
        _each(entry.authors),
        untracked(entry.link),
        [(file_key(medium.url), medium.type, _text(medium.alt)) for medium in entry.media],
        _each(entry.categories),
        # Where the content ends and the summary begins.
        len(content),
    ]
    written = f"{json.dumps(heading)}\n{content}{summary}"
    # A lone surrogate is hashed, too.
    return f"{VERSION}:{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _text(text: str) -> str:
    return " ".join(text.split())


def _html(html: str) -> str:
    text = _QUERY.sub(_without_tokens, html) if "?" in html else html
    return _text(text).replace("> <", "><")


def _without_tokens(query: re.Match[str]) -> str:
    text = query.group()
    if "=" not in text:
        return text
    return _remembered_unsigned(text) if len(text) <= MAX_REMEMBERED else _unsigned(text)


def _unsigned(query: str) -> str:
    return _TOKEN.sub(r"\1", _cleared(query))


_remembered_unsigned = lru_cache(maxsize=1_000)(_unsigned)


def _each(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(map(_text, names)))


def canonical(url: str) -> str:
    """One address for all addresses that lead to the same post: for comparing, not for fetching.

    https for http, the host in lower case without a default port, "/" for no path; without fragment and
    tracking parameters. "www." and the order of the other parameters stay. A text that is no http(s) address
    comes back as it is, without blanks around it; "" for "".
    """
    text = url.strip()
    try:
        parts = urlsplit(text.replace(" ", "%20"))
        host, port = parts.hostname, parts.port
    except ValueError:
        return text
    if parts.scheme not in ("http", "https") or not host:
        return text
    user, at, _ = parts.netloc.rpartition("@")
    name = f"[{host}]" if ":" in host else host.rstrip(".")
    place = f"{user}{at}{name}" + ("" if port is None or port in _DEFAULT_PORTS else f":{port}")
    return f"https://{place}{parts.path or '/'}{untracked('?' + parts.query).rstrip('?&')}"


def link_hash(url: str) -> str:
    """32 hex digits that are the same for addresses of the same post; "" for ""."""
    text = canonical(url)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32] if text else ""
