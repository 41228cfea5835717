import hashlib
import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from common.text import words
from feeds.parsing.entry import Entry
from feeds.parsing.pictures import SIGNING_PARAMETERS, file_key

PARAMETERS = words(
    "utm_* mtm_* pk_campaign pk_kwd pk_source pk_medium fbclid gclid gclsrc gbraid wbraid dclid"
    " msclkid yclid twclid ttclid li_fat_id igshid igsh mc_cid mc_eid mkt_tok _hsenc _hsmi __hssc"
    " __hstc __hsfp hsctatracking vero_id oly_anon_id oly_enc_id ml_subscriber ml_subscriber_hash"
    " wickedid _openstat s_cid ns_campaign ns_mchannel ns_source ns_linkname srsltid"
)

MAX_REMEMBERED = 500

_AND = r"&(?:amp;|#0*38;|#x0*26;)?"
_NAMES = "|".join(re.escape(name).replace(r"\*", r"[\w.-]*") for name in sorted(PARAMETERS))
_TRACKED = re.compile(rf"(\A\?|{_AND})(?:(?:{_NAMES})=[^&#]*(?:{_AND}|(?!&)))+", re.IGNORECASE)
_ENDS_IN_AND = re.compile(rf"{_AND}\Z", re.IGNORECASE)
_TOKEN = re.compile(rf"(\A\?|{_AND})(?:{SIGNING_PARAMETERS})=[^&#]*", re.IGNORECASE)
# Starts with one character, for speed.
_QUERY = re.compile(r"\?[^\s\"'<>]+")
VERSION = "2"
_DEFAULT_PORTS = {80, 443}


def untracked(text: str) -> str:
    return _QUERY.sub(_without, text) if "?" in text else text


def _cleared(query: str) -> str:
    return _TRACKED.sub(lambda found: found[1] if _ENDS_IN_AND.search(found[0]) else "", query)


def _each_query(change: Callable[[str], str]) -> Callable[[re.Match[str]], str]:
    remembered = lru_cache(maxsize=1_000)(change)

    def changed(query: re.Match[str]) -> str:
        text = query[0]
        if "=" not in text:
            return text
        return remembered(text) if len(text) <= MAX_REMEMBERED else change(text)

    return changed


_without = _each_query(_cleared)
_without_tokens = _each_query(lambda query: _TOKEN.sub(r"\1", _cleared(query)))


def content_hash(entry: Entry) -> str:
    """Return "2:" and a hex SHA-256.

    Ignores dates, tracking parameters, tokens, file sizes, white space and duplicate names.
    """
    content, summary = _html(entry.content), _html(entry.summary)
    heading = [
        _text(entry.title),
        _each(entry.authors),
        untracked(entry.link),
        [(file_key(medium.url), medium.type, _text(medium.alt)) for medium in entry.media],
        _each(entry.categories),
        len(content),
    ]
    written = f"{json.dumps(heading)}\n{content}{summary}"
    return f"{VERSION}:{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _text(text: str) -> str:
    return " ".join(text.split())


def _html(html: str) -> str:
    text = _QUERY.sub(_without_tokens, html) if "?" in html else html
    return _text(text).replace("> <", "><")


def _each(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(map(_text, names)))


def canonical(url: str) -> str:
    """Return one address for all of the same post, only for comparison.

    Keeps "www." and the order of parameters. Strips other texts.
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
    """Return 32 hex digits, equal for addresses of the same post."""
    text = canonical(url)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32] if text else ""
