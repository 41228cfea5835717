"""Links to an address (www.w3.org/TR/webmention §3.2.2)."""

import json
from collections.abc import Iterable, Iterator
from datetime import timedelta
from urllib.parse import urlsplit

from common.backoff import delay
from feeds.parsing.discovery import start_tags
from feeds.parsing.entry import Entry
from feeds.parsing.media import absolute
from reader.rules.jf2 import BY_RELATION

MENTION = "mention"
LINKING = ("href", "src", "cite", "data", "poster")
MAX_JSON_VALUES = 100_000
_OPENING, _CLOSING = "(<[{\"'“‘«", ".,;:!?)>]}\"'”’»"
_PORTS = {"http": 80, "https": 443}
# For each pair.
LOOK_EVERY = timedelta(minutes=1)
FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=5), timedelta(hours=6)
MOST_LOOKS = 6


def comparable(url: str) -> str:
    """Drop the fragment; "" if invalid."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    if parts.scheme not in _PORTS or not host or port == 0:
        return ""
    host = f"[{host}]" if ":" in host else host
    place = host if port in (None, _PORTS[parts.scheme]) else f"{host}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{place}{parts.path or '/'}{query}"


def is_within(url: str, pages: Iterable[str]) -> bool:
    path = comparable(url).partition("?")[0]
    beginnings = (comparable(page).rstrip("/") for page in pages)
    return any(path == one or path.startswith(f"{one}/") for one in filter(None, beginnings))


def html_links_to(html: str, target: str, *, url: str) -> bool:
    """Return whether an element links to the target; comments and scripts don't count."""
    wanted, base = comparable(target), url
    host = urlsplit(wanted).hostname or ""
    for tag in start_tags(html):
        if tag.name == "base" and base == url:
            base = absolute(tag.get("href"), url) or url
        pictures = (one.split()[0] for one in tag.get("srcset").split(",") if one.strip())
        for value in (*map(tag.get, LINKING), *pictures):
            # Most links go elsewhere, and resolving is slow.
            is_elsewhere = "//" in value and host not in value.lower()
            if value and not is_elsewhere and comparable(absolute(value, base)) == wanted:
                return True
    return False


def json_links_to(body: str, target: str) -> bool:
    wanted = comparable(target)
    try:
        return any(comparable(text) == wanted for text in _texts(json.loads(body)))
    except (ValueError, RecursionError):
        return False


def text_links_to(text: str, target: str) -> bool:
    wanted = comparable(target)
    return any(comparable(word.lstrip(_OPENING).rstrip(_CLOSING)) == wanted for word in text.split())


def kind_towards(target: str, entry: Entry) -> str:
    wanted = comparable(target)
    relations = {relation for relation, url in entry.social.relations if comparable(url) == wanted}
    if "in-reply-to" in relations and entry.social.rsvp:
        relations.add("rsvp")
    return next((kind for relation, kind in BY_RELATION.items() if relation in relations), MENTION)


def next_look(attempts: int, *, chance: float | None = None) -> timedelta | None:
    """Return the delay before the next fetch, if any; `attempts` includes the last."""
    if attempts >= MOST_LOOKS:
        return None
    return delay(attempts, first=FIRST_RETRY, limit=LONGEST_RETRY, chance=chance)


def _texts(document: object) -> Iterator[str]:
    waiting, seen = [document], 0
    while waiting and seen < MAX_JSON_VALUES:
        value, seen = waiting.pop(), seen + 1
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, str):
            yield value
