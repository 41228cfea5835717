"""What a feed's last document leaves besides items: itself, its order, and what it says of the feed."""

from collections.abc import Iterator
from datetime import datetime

from feeds.models import Feed, FeedDocument, Item
from feeds.rules.facts import Plan
from feeds.rules.order import newest
from feeds.rules.rhythm import LATEST, RESTLESS, restless_after, rhythm_minutes
from feeds.services.known import packed
from feeds.services.reading import CONDITIONS, Reading

MAX_WARNINGS = 20
RESTLESS_FEED = (
    "Every post changes at every reading: a clock, a counter or an advertisement in them, perhaps. "
    "They are sent after the longest delay ({} minutes)."
)
HABITUAL = (
    "Posts come under new ids again and again. They are recognised by their addresses and not sent again. "
    "If these are new posts at the same address, switch off “recognise reposts”."
)
ALL_UNKNOWN = (
    "Not one of its posts has an id that was known before. It publishes more between two readings than it "
    "shows, or it makes up new ids: then posts without addresses of their own count as new each time."
)


def keep_document(feed: Feed, reading: Reading, moment: datetime) -> None:
    """The document for previews and for the next plan."""
    assert reading.parsed is not None  # noqa: S101 - only for parsed documents
    document = {
        "body": reading.compressed,
        "headers": {**reading.headers, "url": reading.url},
        "channel": reading.parsed.channel.to_json(),
        "sha256": reading.sha256,
        "fetched_at": moment,
    }
    if reading.guids:  # a document without entries withdraws nothing: the order before it stays
        document["order"] = packed(reading.document.newest_first())
    if not FeedDocument.objects.filter(feed=feed).update(**document):
        FeedDocument.objects.create(feed=feed, **{"order": b"", **document})


def keep_order(feed: Feed, reading: Reading, plan: Plan) -> None:
    """After a push: what it brought stands in front of what the last whole document held."""
    brought = {insert.id for insert in plan.insert}.union(plan.restart.values())
    changed = brought.union(plan.rewrite.values(), plan.deferred)
    document = FeedDocument.objects.filter(feed=feed).only("order", "headers").first()
    if document is None or not changed:
        return
    front = packed(id_ for id_ in reading.document.newest_first() if id_ in brought)
    # Read in full next time. That it has not changed since the last whole document would not mean that
    # it holds what was pushed: it may have been withdrawn.
    headers = {name: value for name, value in document.headers.items() if name not in CONDITIONS}
    FeedDocument.objects.filter(feed=feed).update(
        order=front + bytes(document.order), headers=headers, sha256=""
    )


def describe(feed: Feed, reading: Reading, plan: Plan, moment: datetime) -> None:
    """Brings the feed's own words and what is odd in it up to date, unsaved."""
    assert reading.parsed is not None  # noqa: S101 - only for parsed documents
    feed.title = feed.title or reading.parsed.title
    feed.site_url = reading.parsed.link or feed.site_url
    feed.language = reading.parsed.language[:35] or feed.language
    feed.restless_polls = restless_after(feed.restless_polls, plan.restless)
    published = _published(feed, reading)
    feed.rhythm_minutes = rhythm_minutes(published, moment)
    before = [feed.newest_at] if feed.newest_at else []
    feed.newest_at = max([*before, *(date for date in published if date <= moment)], default=None)
    warnings = (*_oddities(feed, plan), *reading.parsed.warnings)
    feed.warning = "\n".join(warnings[:MAX_WARNINGS])


def _oddities(feed: Feed, plan: Plan) -> Iterator[str]:
    if feed.restless_polls >= RESTLESS:
        yield RESTLESS_FEED.format(feed.max_delay_minutes)
    if plan.habitual:
        yield HABITUAL
    elif plan.all_unknown and not plan.reposts:
        yield ALL_UNKNOWN


def _published(feed: Feed, reading: Reading) -> list[datetime]:
    """When the newest posts were published; for those that do not say, when they were first seen."""
    published = {id_: entry.published for id_, entry in reading.document.entries.items()}
    chosen = newest(list(published), published, LATEST)
    undated = [id_ for id_ in chosen if published[id_] is None]
    seen = Item.objects.filter(feed=feed, guid_hash__in=undated).order_by() if undated else None
    dates = [date for id_ in chosen if (date := published[id_]) is not None]
    return dates + (list(seen.values_list("first_seen", flat=True)) if seen is not None else [])
