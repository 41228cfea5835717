"""Taking over a list of feeds, and giving ours away. No network: the feeds are read when they are due."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from common.clock import utcnow
from feeds.adding.add import check, new_feed
from feeds.addresses import host_of_url, same_address
from feeds.credentials import split_address, without_secrets
from feeds.models import Feed
from feeds.models.feed import FeedQuerySet
from feeds.parsing.opml import Listed, Opml, Outline, Passed, write_opml
from feeds.tags import MAX_TAGS, checked_tags, tags_named

CHUNK = 200
# The number of our advisory lock: one import at a time looks and adds.
LOCK = 7_268_310


@dataclass
class OpmlPlan:
    """The feeds of a file, each once, and what of it is none. Plain lists, so that it can be kept."""

    title: str = ""
    outlines: list[Outline] = field(default_factory=list)
    refused: list[Passed] = field(default_factory=list)
    repeated: int = 0
    is_broken: bool = False


@dataclass
class OpmlReport:
    """What was (or would be) done: counts of feeds. `tagged`: there already, and got tags they had not."""

    added: int = 0
    known: int = 0
    tagged: int = 0

    def __add__(self, other: "OpmlReport") -> "OpmlReport":
        return OpmlReport(self.added + other.added, self.known + other.known, self.tagged + other.tagged)


def plan_import(opml: Opml, *, tags: Iterable[str] = (), now: datetime) -> OpmlPlan:
    """Each address once, with the tags of all its outlines and `tags`. Raises ValidationError for those.

    Passes the same checks as a feed that is added by itself; changes nothing.
    """
    extra = checked_tags(tags)
    plan = OpmlPlan(opml.title, refused=list(opml.passed), is_broken=opml.is_broken)
    found: dict[str, Outline] = {}
    for outline in opml.outlines:
        outline = replace(outline, title=without_secrets(outline.title), tags=(*outline.tags, *extra))
        if reason := _why_not(outline, now):
            plan.refused.append(Passed(outline.line, outline.title, reason))
            continue
        key = _key(outline)
        if key in found:
            plan.repeated += 1
            outline = replace(found[key], tags=_together(found[key].tags, outline.tags))
        found[key] = outline
    plan.outlines = list(found.values())
    plan.refused.sort(key=lambda passed: passed.line)
    return plan


def _why_not(outline: Outline, now: datetime) -> str:
    try:
        check(_feed(outline, now))
        checked_tags(outline.tags)
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


def _together(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for name in (*first, *second):
        found.setdefault(name.casefold(), name)
    return tuple(found.values())[:MAX_TAGS]


def _key(outline: Outline) -> str:
    return same_address(split_address(outline.url)[0].strip())


def _feed(outline: Outline, now: datetime) -> Feed:
    feed = new_feed(url=outline.url, now=now, title=outline.title)
    feed.site_url = outline.site_url
    return feed


def look(plan: OpmlPlan) -> OpmlReport:
    """What importing would do, in counts."""
    total = OpmlReport()
    for chunk in chunks(plan):
        there = _there(chunk)
        known = [outline for outline in chunk if _key(outline) in there]
        tagged = sum(bool(_missing(outline, there[_key(outline)])) for outline in known)
        total += OpmlReport(len(chunk) - len(known), len(known), tagged)
    return total


def first_new(plan: OpmlPlan, count: int) -> list[Outline]:
    """The first of those that importing would add."""
    found: list[Outline] = []
    for chunk in chunks(plan):
        there = _there(chunk)
        found += [outline for outline in chunk if _key(outline) not in there]
        if len(found) >= count:
            break
    return found[:count]


def chunks(plan: OpmlPlan) -> Iterator[list[Outline]]:
    for begin in range(0, len(plan.outlines), CHUNK):
        yield plan.outlines[begin : begin + CHUNK]


@transaction.atomic
def import_chunk(plan: OpmlPlan, *, begin: int, now: datetime) -> OpmlReport:
    """Adds the next CHUNK feeds of a plan from `begin` on; those there are already only get the tags.

    Doing it twice changes nothing. The first readings are spread over the interval, so that thousands of
    feeds do not begin at once.
    """
    _lock()
    chunk = plan.outlines[begin : begin + CHUNK]
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
    _tag({**tags, **{feed.pk: outline.tags for feed, outline in new}})
    return OpmlReport(len(new), len(chunk) - len(new), tagged)


def _lock() -> None:
    """No two imports look at the same time whether a feed is there. (SQLite has one writer anyway.)"""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def _there(outlines: Sequence[Outline]) -> dict[str, Feed]:
    """The feeds there are at the addresses of these outlines, with their tags."""
    hosts = {host_of_url(split_address(outline.url)[0].strip()) for outline in outlines}
    wanted = {_key(outline) for outline in outlines}
    rows = Feed.objects.filter(host__in=hosts, dropping=False).order_by("-pk").values_list("pk", "url")
    keys = {same_address(url): pk for pk, url in rows if same_address(url) in wanted}
    feeds = Feed.objects.only("pk").prefetch_related("tags").in_bulk(keys.values())
    return {key: feeds[pk] for key, pk in keys.items() if pk in feeds}


def _missing(outline: Outline, feed: Feed) -> list[str]:
    had = {tag.name.casefold() for tag in feed.tags.all()}
    return [name for name in outline.tags if name.casefold() not in had]


def _tag(names: dict[int, Sequence[str]]) -> None:
    """Gives each feed (by its key) its tags, in a few statements for all."""
    feeds: dict[str, list[int]] = defaultdict(list)
    for pk, given in names.items():
        for name in given:
            feeds[name].append(pk)
    tags = {tag.name.casefold(): tag.pk for tag in tags_named(feeds)}
    through: Any = Feed.tags.through
    rows = [
        through(feed_id=pk, tag_id=tags[name.casefold()]) for name, pks in feeds.items() for pk in set(pks)
    ]
    through.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)


def export_opml(feeds: FeedQuerySet, *, now: datetime | None = None) -> Iterator[str]:
    """The lines of an OPML file with these feeds. Never with what is needed to read them."""
    rows = feeds.filter(dropping=False).order_by("title", "pk").prefetch_related("tags")
    listed = (_listed(feed) for feed in rows.iterator(chunk_size=1000))
    return write_opml(listed, title="Feeds of Feedletter", created=now or utcnow())


def _listed(feed: Feed) -> Listed:
    names = tuple(sorted((tag.name for tag in feed.tags.all()), key=str.casefold))
    return Listed(feed.url, feed.title, feed.site_url, feed.language, names)
