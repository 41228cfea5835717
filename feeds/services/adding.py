"""Adding a feed: a row only. Its first successful poll, whenever it comes, decides what is there already."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction

from common.text import one_line
from feeds.models import Feed
from feeds.services.credentials import checked_credentials, split_address
from feeds.services.tagging import checked_tags, set_tags

MAX_URL = 4000
MAX_HOST = 253  # RFC 1035, 2.3.4, without the root's dot
MAX_TITLE = 1000
_PORTS = {"http": 80, "https": 443}
NO_ADDRESS = "Give an address that begins with http:// or https://."
# What may be said of a feed besides its address, as it is added and later.
SETTINGS = frozenset(
    {
        "title",
        "min_delay_minutes",
        "await_stabilization_minutes",
        "max_delay_minutes",
        "recheck_every_minutes",
        "pace",
        "ceiling_minutes",
        "hold_floods",
        "join_reposts",
        "use_hub",
    }
)


def checked_url(url: str) -> str:
    """The address, trimmed. Raises ValidationError for what cannot be a feed's address."""
    url = url.strip()
    if not is_address(url):
        raise ValidationError({"url": NO_ADDRESS})
    return url


def is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        good = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return good and len(url) <= MAX_URL and len(parts.hostname or "") <= MAX_HOST and url == one_line(url)


def host_of_url(url: str) -> str:
    """Where an address is asked for: the host's name in small letters, with the port if it is not the usual.

    "" for what is no address.
    """
    try:
        parts = urlsplit(url)
        name, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    name = f"[{name}]" if ":" in name else name
    return name if port in (None, _PORTS.get(parts.scheme)) else f"{name}:{port}"


def same_address(url: str) -> str:
    """What two addresses have in common that lead to the same feed: host, path and query.

    Not the scheme: feeds move to https, and lists of feeds are old.
    """
    parts = urlsplit(url)
    return f"{host_of_url(url)}{parts.path.rstrip('/') or '/'}?{parts.query}"


def set_address(feed: Feed, url: str) -> dict[str, str]:
    """The feed at a checked address, with what follows from it; returns the user name and password in it."""
    bare, pasted = split_address(url)
    feed.url = checked_url(bare)
    feed.host = host_of_url(feed.url)
    return pasted


def add_feed(
    *,
    url: str,
    now: datetime,
    start: str = Feed.Start.FROM_NOW,
    start_count: int = 0,
    tags: Iterable[str] = (),
    credentials: Mapping[str, str] | None = None,
    **settings: Any,
) -> Feed:
    """A new feed, due at once. Raises ValidationError when an argument is wrong. No network.

    `settings` are those of SETTINGS, `credentials` what `checked_credentials` takes; a user name and a
    password in the address are taken out of it.
    """
    names = checked_tags(tags)
    feed = new_feed(url=url, now=now, credentials=credentials, **settings)
    feed.start, feed.start_count = start, start_count
    check(feed)
    with transaction.atomic():
        feed.save()
        set_tags(feed, names)
    return feed


def new_feed(
    *, url: str, now: datetime, credentials: Mapping[str, str] | None = None, **settings: Any
) -> Feed:
    """The row, unsaved and not yet checked but for its address. Raises ValidationError."""
    if unknown := set(settings) - SETTINGS:
        raise ValidationError(f"A feed has no setting called {', '.join(sorted(unknown))}.")
    feed = Feed(added_at=now, next_poll_at=now, **tidy(settings))
    pasted = set_address(feed, url.strip())
    feed.credentials = checked_credentials(credentials) or checked_credentials(pasted)
    return feed


def tidy(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the title on one line. Raises ValidationError when it is absurdly long."""
    if "title" not in settings:
        return dict(settings)
    title = one_line(str(settings["title"]))
    if len(title) > MAX_TITLE:
        raise ValidationError({"title": f"Give a title of at most {MAX_TITLE:,} characters."})
    return {**settings, "title": title}


def check(feed: Feed) -> None:
    """Raises ValidationError, naming the field, for a feed that cannot be saved."""
    feed.full_clean(validate_constraints=False)
    if feed.max_delay_minutes < feed.min_delay_minutes:
        raise ValidationError(
            {"max_delay_minutes": "The longest delay must not be shorter than the shortest one."}
        )
    if feed.start == Feed.Start.LAST and feed.start_count < 1:
        raise ValidationError({"start_count": "Say how many posts, 1 or more."})
