"""Whether a page links to an address, and what it does with it (www.w3.org/TR/webmention, 3.2.2). Pure."""

import json
from collections.abc import Iterable, Iterator
from datetime import timedelta
from urllib.parse import urlsplit

from common.backoff import delay
from feeds.parsing.discovery import start_tags
from feeds.parsing.entry import Entry
from feeds.parsing.media import absolute
from reader.rules.kinds import BY_RELATION, ORDER

MENTION = "mention"
# The attributes by which an element leads somewhere.
LINKING = ("href", "src", "cite", "data", "poster")
MAX_JSON_VALUES = 100_000
# Around an address in a text.
_OPENING, _CLOSING = "(<[{\"'“‘«", ".,;:!?)>]}\"'”’»"
_PORTS = {"http": 80, "https": 443}
# A pair is looked at once in so long, however often it is named.
LOOK_EVERY = timedelta(minutes=1)
FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=5), timedelta(hours=6)
MOST_LOOKS = 6


def comparable(url: str) -> str:
    """An address as it is compared with others: without its fragment. "" for what is none of the web."""
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
    """Whether an address is one of the pages, or lies beneath one."""
    path = comparable(url).partition("?")[0]
    beginnings = (comparable(page).rstrip("/") for page in pages)
    return any(path == one or path.startswith(f"{one}/") for one in filter(None, beginnings))


def html_links_to(html: str, target: str, *, url: str) -> bool:
    """Whether an element of a page at `url` leads to the target; what comments and scripts hold does not."""
    wanted, base = comparable(target), url
    host = urlsplit(wanted).hostname or ""
    for tag in start_tags(html):
        if tag.name == "base" and base == url:
            base = absolute(tag.get("href"), url) or url
        pictures = (one.split()[0] for one in tag.get("srcset").split(",") if one.strip())
        for value in (*map(tag.get, LINKING), *pictures):
            # (Most links of a page lead elsewhere, and to resolve each takes long.)
            is_elsewhere = "//" in value and host not in value.lower()
            if value and not is_elsewhere and comparable(absolute(value, base)) == wanted:
                return True
    return False


def json_links_to(body: str, target: str) -> bool:
    """Whether a value within the document is the target."""
    wanted = comparable(target)
    try:
        return any(comparable(text) == wanted for text in _texts(json.loads(body)))
    except (ValueError, RecursionError):
        return False


def text_links_to(text: str, target: str) -> bool:
    """Whether a word of the text is the target."""
    wanted = comparable(target)
    return any(comparable(word.lstrip(_OPENING).rstrip(_CLOSING)) == wanted for word in text.split())


def kind_towards(target: str, entry: Entry) -> str:
    """What a post does with the target: repost, like, bookmark, rsvp, reply, or merely mention."""
    wanted = comparable(target)
    said = {relation for relation, url in entry.social.relations if comparable(url) == wanted}
    if "in-reply-to" in said and entry.social.rsvp:
        said.add("rsvp")
    return next((BY_RELATION[relation] for relation in ORDER if relation in said), MENTION)


def next_look(attempts: int, *, chance: float | None = None) -> timedelta | None:
    """After how long a source is looked at again whose server did not answer; None: no more.

    `attempts` counts this one.
    """
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
