"""A reader's stars since they opened their picks, with notes, as a feed that newsletters can take."""

import json
import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Left
from django.urls import reverse
from django.utils.feedgenerator import Rss201rev2Feed
from django.utils.html import format_html, linebreaks, urlize
from django.utils.safestring import SafeString, mark_safe

from common.html.balance import scheme
from common.net.client import Fetched
from common.text import one_line, shortened, without_controls
from feeds.polling.read import OwnDocument
from reader.models import Reader, Star
from reader.people.readers import reading
from reader.rules.order import number_in
from reader.timelines.stars import star, stars_among

LONGEST_NOTE = 2_000
LONGEST_TAG = 50
MOST_TAGS = 10
MOST_IN_FEED = 500
LONGEST_TITLE = 300
KEY_BYTES = 16
TYPES = {"xml": "application/rss+xml; charset=utf-8", "json": "application/feed+json; charset=utf-8"}
# Of posts, without their texts.
_FIELDS = {
    **{name: KeyTextTransform(name, "entry__jf2") for name in ("name", "url", "summary")},
    "text": Left(KeyTextTransform("text", KeyTextTransform("content", "entry__jf2")), LONGEST_TITLE + 1),
}
_PATH = re.compile(r"/reader/picks/([\w-]{1,43})/feed\.(xml|json)")


@dataclass(frozen=True, slots=True)
class Pick:
    id: str
    title: str
    url: str
    at: datetime
    tags: tuple[str, ...]
    # The note, and below it the source.
    html: SafeString


def open_picks(*, reader: Reader, now: datetime) -> None:
    """Save what the reader chose. Closing ends the address: opening again makes another."""
    if reader.has_picks and not reader.picks_key:
        reader.picks_key, reader.picks_since = f"{reader.pk}-{secrets.token_urlsafe(KEY_BYTES)}", now
    elif not reader.has_picks:
        reader.picks_key, reader.picks_since = "", None
    reader.save(update_fields=["picks", "picks_title", "picks_key", "picks_since"])


def picks_at(key: str) -> Reader | None:
    """Return the reader whose picks are at this address, if they may read here."""
    return reading(pk=number_in(key.partition("-")[0]) or 0, picks_key=key)


def title_of(reader: Reader) -> str:
    return one_line(reader.picks_title or reader.full_name)


def address_of(reader: Reader, kind: str = "") -> str:
    """Return the address of the feed as `kind` (xml or json), or of the page."""
    name = f"reader:picks_{kind}" if kind else "reader:picks"
    return settings.SITE_URL + reverse(name, args=[reader.picks_key])


def annotate(*, reader: Reader, entry: int, note: str, tags: str, now: datetime) -> None:
    """Star a visible post, with a note and tags (“travel, maps”), which are cut to their limits."""
    star(reader=reader, entries=[entry], now=now)
    stars_among(reader, [entry]).update(note=_note(note), tags=", ".join(_tags(tags.split(","))))


@transaction.atomic
def tag(
    reader: Reader, entries: Collection[int], added: Iterable[str], removed: Iterable[str], *, note: str = ""
) -> None:
    """Change tags of starred posts, and their notes unless `note` is empty."""
    gone, new = {name.casefold() for name in _tags(removed)}, list(added)
    rows = list(stars_among(reader, entries).order_by("pk").select_for_update())
    for row in rows:
        kept = [name for name in row.tags.split(",") if one_line(name).casefold() not in gone]
        row.tags, row.note = ", ".join(_tags([*kept, *new])), _note(note) or row.note
    Star.objects.bulk_update(rows, ["tags", "note"], batch_size=500)


def notes_among(reader: Reader, entries: Collection[int]) -> dict[int, tuple[str, str]]:
    """Return notes and tags of starred posts, without a query if there are no picks."""
    if not reader.has_picks:
        return {}
    rows = stars_among(reader, entries).values_list("entry_id", "note", "tags")
    return {pk: (note, tags) for pk, note, tags in rows}


def picks_of(reader: Reader) -> list[Pick]:
    """Return the newest first, without posts of feeds that need credentials."""
    rows = Star.objects.filter(reader=reader, at__gte=reader.picks_since, entry__jf2__isnull=False)
    rows = rows.annotate(**_FIELDS).select_related("entry__feed").defer("entry__text", "entry__jf2")
    rows = rows.order_by("-at", "-pk")
    shown = (
        row for row in rows.iterator(MOST_IN_FEED) if not (row.entry.feed and row.entry.feed.credentials)
    )
    return [_pick(row) for row in islice(shown, MOST_IN_FEED)]


def written(reader: Reader, picks: Iterable[Pick], kind: str) -> bytes:
    """Return RSS 2.0 (xml), or JSON Feed 1.1 (json)."""
    page = address_of(reader) if reader.picks == Reader.Picks.PUBLIC else settings.SITE_URL
    if kind == "json":
        items = [
            {
                "id": pick.id,
                **({"url": pick.url} if pick.url else {}),
                "title": pick.title,
                "content_html": pick.html,
                "date_published": pick.at.isoformat(),
                "tags": pick.tags,
            }
            for pick in picks
        ]
        about = {"title": title_of(reader), "home_page_url": page, "feed_url": address_of(reader, kind)}
        document = {"version": "https://jsonfeed.org/version/1.1", **about, "items": items}
        return json.dumps(document, ensure_ascii=False).encode()
    feed = Rss201rev2Feed(title_of(reader), page, title_of(reader), feed_url=address_of(reader, kind))
    for pick in picks:
        feed.add_item(
            pick.title,
            pick.url,
            pick.html,
            pubdate=pick.at,
            unique_id=pick.id,
            unique_id_is_permalink=False,
            categories=pick.tags,
        )
    return feed.writeString("utf-8").encode()


def own_document(url: str, now: datetime) -> OwnDocument | None:
    """Return the feed at one of our addresses, for the polling pass."""
    match = _PATH.fullmatch(urlsplit(url).path)
    if match is None:
        return None
    reader, kind = picks_at(match[1]), match[2]
    if reader is None:
        return OwnDocument(Fetched(404, url, {}, b""), now, is_complete=False)
    picks = picks_of(reader)
    document = Fetched(200, url, {"content-type": TYPES[kind]}, written(reader, picks, kind))
    return OwnDocument(document, now, is_complete=len(picks) < MOST_IN_FEED)


def _note(text: str) -> str:
    return without_controls(text.replace("\r\n", "\n")).strip()[:LONGEST_NOTE].rstrip()


def _tags(names: Iterable[str]) -> list[str]:
    """Drop duplicates in any case. Commas separate tags."""
    unique: dict[str, str] = {}
    for name in names:
        if tidy := one_line(name.replace(",", " "))[:LONGEST_TAG].strip():
            unique.setdefault(tidy.casefold(), tidy)
    return list(unique.values())[:MOST_TAGS]


def _pick(row: Any) -> Pick:
    """Make it of a star with `_FIELDS`."""
    feed, url = row.entry.feed, without_controls(row.url or "")
    url = url if scheme(url) in ("http", "https") else ""
    source = one_line((feed.title or feed.host) if feed else "") or (urlsplit(url).hostname or "")
    title = shortened(one_line(row.name or row.summary or row.text or url), LONGEST_TITLE)
    # Both escape what a person typed.
    note = mark_safe(linebreaks(urlize(row.note, autoescape=True)))  # noqa: S308
    return Pick(
        # Without our host, since a site may move.
        id=f"urn:feedletter:pick:{row.reader_id}:{row.entry_id}",
        title=title,
        url=url,
        at=row.at,
        tags=tuple(_tags(row.tags.split(","))),
        html=format_html(
            "{}{}", note if row.note else "", format_html("<p>— {}</p>", source) if source else ""
        ),
    )
