"""ActivityPub's JSON, which many profiles answer to programs: no feed, but it tells where one is."""

from collections.abc import Mapping
from typing import Any

from common.text import shortened
from feeds.parsing.media import absolute

CONTEXT = "www.w3.org/ns/activitystreams"
ACTORS = frozenset({"Person", "Service", "Group", "Organization", "Application"})
MAX_SHOWN = 200

MESSAGE = (
    "This address answers ActivityPub JSON ({}), which is no feed. Use the address of the profile's RSS feed:"
    " on Mastodon it is the profile's address with “.rss” at its end, for example {}."
)


def is_it(document: Any) -> bool:
    """Whether a JSON document is an ActivityPub actor or object (W3C ActivityPub, 3)."""
    context = document.get("@context") if isinstance(document, dict) else None
    return any(
        isinstance(one, str) and CONTEXT in one
        for one in (context if isinstance(context, list) else [context])
    )


def message(document: Mapping[str, Any]) -> str:
    """What it is, and where its feed usually is; with its own address if it names one."""
    is_actor = document.get("type") in ACTORS if isinstance(document.get("type"), str) else False
    profile = absolute(_address(document.get("url")), "") if is_actor else ""
    shown = f"{profile}.rss" if profile and len(profile) <= MAX_SHOWN else "https://mastodon.example/@ada.rss"
    return MESSAGE.format("a profile, called an actor" if is_actor else "an object, such as a post", shown)


def _address(url: Any) -> str:
    """An address, a link object, or the first of a list of them."""
    first = url[0] if isinstance(url, list) and url else url
    href = first.get("href") if isinstance(first, dict) else first
    return shortened(href, 2 * MAX_SHOWN) if isinstance(href, str) else ""
