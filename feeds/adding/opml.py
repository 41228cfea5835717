from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from common.clock import utcnow
from common.db.bulk import batched
from feeds.adding.add import check_feed, new_feed
from feeds.addresses import host_of_url, listed_address, same_address
from feeds.credentials import split_address, without_secrets
from feeds.models import Feed
from feeds.models.feed import FeedQuerySet
from feeds.parsing.opml import Listed, Opml, Outline, Passed, write_opml
from feeds.tags import MAX_TAGS_OF_A_FEED, checked_tags, tags_named

FEEDS_A_STEP = 200
PAUSED = "It is paused there, and so it is here."
# Advisory lock: one import at a time.
LOCK = 7_268_310


@dataclass
class OpmlPlan:
    """Serializable."""

    title: str = ""
    outlines: list[Outline] = field(default_factory=list)
    refused: list[Passed] = field(default_factory=list)
    # Imported, but not with everything.
    changed: list[Passed] = field(default_factory=list)
    repeated: int = 0
    is_broken: bool = False


@dataclass
class OpmlReport:
    added: int = 0
    known: int = 0
    tagged: int = 0

    def __add__(self, other: "OpmlReport") -> "OpmlReport":
        return OpmlReport(self.added + other.added, self.known + other.known, self.tagged + other.tagged)


def plan_import(opml: Opml, *, tags: Iterable[str] = (), now: datetime) -> OpmlPlan:
    """Merge outlines of one address. Raises ValidationError for bad `tags`."""
    extra = checked_tags(tags)
    plan = OpmlPlan(opml.title, refused=list(opml.passed), is_broken=opml.is_broken)
    outlines: dict[str, Outline] = {}
    for outline in opml.outlines:
        title, url = without_secrets(outline.title), listed_address(outline.url)
        outline = replace(outline, title=title, url=url, tags=(*outline.tags, *extra))
        try:
            check_feed(_feed(outline, now))
            checked_tags(outline.tags)
        except ValidationError as error:
            plan.refused.append(Passed(outline.line, outline.title, " ".join(error.messages)))
            continue
        if words := " ".join(filter(None, [PAUSED if outline.is_paused else "", outline.lost])):
            plan.changed.append(Passed(outline.line, title, words))
        key = _key(outline)
        if key in outlines:
            plan.repeated += 1
            names: dict[str, str] = {}
            for name in (*outlines[key].tags, *outline.tags):
                names.setdefault(name.casefold(), name)
            outline = replace(outlines[key], tags=tuple(names.values())[:MAX_TAGS_OF_A_FEED])
        outlines[key] = outline
    plan.outlines = list(outlines.values())
    plan.refused.sort(key=lambda passed: passed.line)
    return plan


def _key(outline: Outline) -> str:
    return same_address(split_address(outline.url)[0].strip())


def _feed(outline: Outline, now: datetime) -> Feed:
    feed = new_feed(url=outline.url, now=now, title=outline.title)
    feed.site_url = outline.site_url
    feed.status = Feed.Status.PAUSED if outline.is_paused else Feed.Status.ACTIVE
    return feed


def count_import(plan: OpmlPlan) -> OpmlReport:
    total = OpmlReport()
    for chunk in batched(plan.outlines, FEEDS_A_STEP):
        there = _there(chunk)
        known = [outline for outline in chunk if _key(outline) in there]
        tagged = sum(bool(_missing(outline, there[_key(outline)])) for outline in known)
        total += OpmlReport(len(chunk) - len(known), len(known), tagged)
    return total


def first_new(plan: OpmlPlan, count: int) -> list[Outline]:
    outlines: list[Outline] = []
    for chunk in batched(plan.outlines, FEEDS_A_STEP):
        there = _there(chunk)
        outlines += [outline for outline in chunk if _key(outline) not in there]
        if len(outlines) >= count:
            break
    return outlines[:count]


@transaction.atomic
def import_chunk(plan: OpmlPlan, *, begin: int, now: datetime) -> OpmlReport:
    """Add the next FEEDS_A_STEP feeds; known ones only get the tags. Idempotent.

    First readings are spread over the interval, as there may be thousands.
    """
    # SQLite has one writer anyway.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    chunk = plan.outlines[begin : begin + FEEDS_A_STEP]
    there = _there(chunk)
    new: list[tuple[Feed, Outline]] = []
    tags: dict[int, Sequence[str]] = {}
    for position, outline in enumerate(chunk, begin):
        if feed := there.get(_key(outline)):
            if missing := _missing(outline, feed):
                tags[feed.pk] = missing
        else:
            feed = _feed(outline, now)
            every = timedelta(minutes=feed.recheck_every_minutes)
            feed.next_poll_at = now + every * (position / len(plan.outlines))
            new.append((feed, outline))
    Feed.objects.bulk_create([feed for feed, _ in new])
    tagged = len(tags)
    tags |= {feed.pk: outline.tags for feed, outline in new}
    feeds: dict[str, list[int]] = defaultdict(list)
    for pk, names in tags.items():
        for name in names:
            feeds[name].append(pk)
    keys = {tag.name.casefold(): tag.pk for tag in tags_named(feeds)}
    through: Any = Feed.tags.through
    rows = [through(feed_id=pk, tag_id=keys[name.casefold()]) for name in feeds for pk in set(feeds[name])]
    through.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
    return OpmlReport(len(new), len(chunk) - len(new), tagged)


def _there(outlines: Sequence[Outline]) -> dict[str, Feed]:
    hosts = {host_of_url(split_address(outline.url)[0].strip()) for outline in outlines}
    wanted = {_key(outline) for outline in outlines}
    rows = Feed.objects.filter(host__in=hosts, dropping=False).order_by("-pk").values_list("pk", "url")
    keys = {same_address(url): pk for pk, url in rows if same_address(url) in wanted}
    feeds = Feed.objects.only("pk").prefetch_related("tags").in_bulk(keys.values())
    return {key: feeds[pk] for key, pk in keys.items() if pk in feeds}


def _missing(outline: Outline, feed: Feed) -> list[str]:
    had = {tag.name.casefold() for tag in feed.tags.all()}
    return [name for name in outline.tags if name.casefold() not in had]


def export_opml(feeds: FeedQuerySet, *, now: datetime | None = None) -> Iterator[str]:
    rows = feeds.filter(dropping=False).order_by("title", "pk").prefetch_related("tags")
    listed = (
        Listed(
            feed.url,
            feed.title,
            feed.site_url,
            feed.language,
            tuple(sorted((tag.name for tag in feed.tags.all()), key=str.casefold)),
        )
        for feed in rows.iterator(chunk_size=1000)
    )
    return write_opml(listed, title="Feeds of Feedletter", created=now or utcnow())
