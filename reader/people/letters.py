"""A channel's posts by email: a feed that is read in this process only, for a newsletter to its owner."""

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from common.net.client import Fetched
from common.ports.channel_letters import letter_newsletters
from common.text import one_line
from feeds.parsing.pictures import type_by_ending
from feeds.polling.read import OwnDocument
from reader.models import Channel, Letters, TimelineEntry
from reader.people.picks import KEY_BYTES, MOST_IN_FEED, TYPES
from reader.people.readers import may_read
from reader.rules.order import number_in
from reader.timelines.marks import mark_read
from reader.timelines.pages import Timeline

MOST_CHARACTERS = 2_000_000
_PATH = re.compile(r"/reader/letters/([\w-]{1,43})/feed\.json")
_GUID = re.compile(r"urn:feedletter:post:([0-9]{1,18}):([0-9]{1,18})")
_MEDIA = {"photo": "image/jpeg", "featured": "image/jpeg", "video": "video/mp4", "audio": "audio/mpeg"}


@transaction.atomic
def save_letters(*, letters: Letters, now: datetime) -> None:
    """Save what the owner chose. Raises Refused about their address."""
    letters.key = letters.key or f"{letters.channel_id}-{secrets.token_urlsafe(KEY_BYTES)}"
    letters.save()
    letter_newsletters().fit(letters, now=now)


def address_of(letters: Letters) -> str:
    return f"{settings.SITE_URL}/reader/letters/{letters.key}/feed.json"


def guid_of(channel: Channel, entry: int) -> str:
    # Without our host, since a site may move.
    return f"urn:feedletter:post:{channel.reader_id}:{entry}"


def mark_sent(channel: Channel, guids: Iterable[str]) -> None:
    """Mark an issue's posts read. Idempotent."""
    matches = filter(None, map(_GUID.fullmatch, guids))
    entries = frozenset(int(match[2]) for match in matches if int(match[1]) == channel.reader_id)
    places = TimelineEntry.objects.filter(channel=channel, entry__pk__any_of=entries)
    mark_read(Timeline(channel.reader, channel), list(places.values_list("pk", flat=True)))


def posts_in(letters: Letters) -> list[int]:
    """Return keys of visible entries since it was switched on, the newest first."""
    channel = letters.channel
    if letters.since is None or settings.READER == "off" or not may_read(channel.reader):
        return []
    rows = Timeline(channel.reader, channel).seen().filter(at__gte=letters.since)
    if letters.unread_only:
        rows = rows.filter(unread__isnull=False)
    return list(rows.order_by("-at", "-pk").values_list("entry_id", flat=True)[:MOST_IN_FEED])


def own_document(url: str, now: datetime) -> OwnDocument | None:
    """Return the feed at one of our addresses, for the polling pass.

    It is empty while its owner may not read here, so that nothing is sent and no failure reported.
    """
    match = _PATH.fullmatch(urlsplit(url).path)
    if match is None:
        return None
    rows = Letters.objects.select_related("channel__reader__user").filter(key=match[1])
    letters = rows.filter(pk=number_in(match[1].partition("-")[0]) or 0).first()
    if letters is None:
        return OwnDocument(Fetched(404, url, {}, b""), now, is_complete=False)
    channel, entries = letters.channel, posts_in(letters)
    items = _items(channel, entries)
    body = {"version": "https://jsonfeed.org/version/1.1", "title": channel.name, "items": items}
    document = Fetched(200, url, {"content-type": TYPES["json"]}, json.dumps(body).encode())
    return OwnDocument(document, now, is_complete=len(items) == len(entries) < MOST_IN_FEED)


def _items(channel: Channel, entries: list[int]) -> list[dict[str, Any]]:
    """Return as many as fit."""
    items: list[dict[str, Any]] = []
    room = MOST_CHARACTERS
    rows = TimelineEntry.objects.filter(channel=channel, entry__in=entries, entry__jf2__isnull=False)
    rows = rows.select_related("entry__feed").defer("entry__text").order_by("-at", "-pk")
    for place in rows.iterator(50):
        items.append(_item(channel, place))
        room -= len(items[-1].get("content_html", ""))
        if room < 0:
            break
    return items


def _item(channel: Channel, place: TimelineEntry) -> dict[str, Any]:
    jf2: Mapping[str, Any] = place.entry.jf2 or {}
    feed, content = place.entry.feed, jf2.get("content") or {}
    source = one_line((feed.title or feed.host) if feed else "")
    names = dict.fromkeys(filter(None, [(jf2.get("author") or {}).get("name"), source]))
    files = [(url, usual) for kind, usual in _MEDIA.items() for url in jf2.get(kind, ())]
    item = {
        "id": guid_of(channel, place.entry_id),
        "url": jf2.get("url"),
        "title": jf2.get("name"),
        "content_html": content.get("html"),
        "content_text": content.get("text"),
        "summary": jf2.get("summary"),
        "authors": [{"name": name} for name in names],
        # By its own date a post might be older than the newsletter, which would not take it.
        "date_published": place.at.isoformat(),
        "tags": jf2.get("category"),
        "attachments": [{"url": url, "mime_type": type_by_ending(url) or usual} for url, usual in files],
    }
    return {name: value for name, value in item.items() if value}
