"""What is kept of a feed's last document besides items: itself, its order, and what it says of the feed."""

from collections.abc import Collection, Iterator
from datetime import datetime

from common.text import shortened
from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.posts import counted_posts
from feeds.polling.known_items import HOLDERS, packed
from feeds.polling.read import CONDITIONS, Reading
from feeds.rules.facts import PollPlan, newest_ids
from feeds.rules.rhythm import RESTLESS, RHYTHM_POSTS, restless_after, rhythm_minutes

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
    "shows, it has moved, another site answers at its address, or it makes up new ids at every reading."
)
FLICKERING = (
    "Posts come and go from one reading to the next: perhaps two copies of it answer in turn. They are sent "
    "after the longest delay ({} minutes)."
)
LEFT_OUT = (
    "{} {} left out, being older than the feed's adding: at the top “{}”. Where that is wrong, “Send after "
    "all” on the post's page sends it."
)
MAX_NAMED_TITLE = 100


def keep_document(feed: Feed, reading: Reading, moment: datetime) -> None:
    """Keeps the document for previews and for the next plan."""
    assert reading.parsed is not None  # noqa: S101 - only for parsed documents
    document = {
        "body": reading.compressed,
        "headers": {**reading.headers, "url": reading.url},
        "channel": {**reading.parsed.channel.to_json(), HOLDERS: reading.holders or {}},
        "sha256": reading.sha256,
        "fetched_at": moment,
        "sent_at": moment,
    }
    if reading.guids:  # a document without entries withdraws nothing: the order before it stays
        document["order"] = packed(reading.document.newest_first())
    if not FeedDocument.objects.filter(feed=feed).update(**document):
        FeedDocument.objects.create(feed=feed, **{"order": b"", **document})


def keep_answer(feed: Feed, reading: Reading, moment: datetime) -> None:
    """Of a document that is the same as before, keeps its headers, and when it was sent, if it was."""
    changes = {"sent_at": moment} if reading.was_sent else {}
    FeedDocument.objects.filter(feed=feed).update(
        fetched_at=moment, headers={**reading.headers, "url": reading.url}, **changes
    )


def keep_order(feed: Feed, reading: Reading, plan: PollPlan) -> None:
    """After a push, puts the posts that it brought in front of those of the last whole document."""
    brought = {insert.id for insert in plan.insert}.union(plan.restart.values())
    changed = brought.union(plan.rewrite.values(), plan.deferred)
    document = FeedDocument.objects.filter(feed=feed).only("order", "headers", "channel").first()
    if document is None or not (changed or reading.before):
        return
    front = packed(id_ for id_ in reading.document.newest_first() if id_ in brought)
    # The feed is read in full next time: without conditions. An answer that nothing has changed since the
    # last whole document would not say that the feed holds what was pushed: that may have been withdrawn.
    headers = {name: value for name, value in document.headers.items() if name not in CONDITIONS}
    FeedDocument.objects.filter(feed=feed).update(
        order=front + bytes(document.order),
        headers=headers,
        sha256="",
        channel={**document.channel, HOLDERS: reading.holders or {}},
    )


def describe(
    feed: Feed, reading: Reading, plan: PollPlan, moment: datetime, *, left_out: Collection[str] = ()
) -> None:
    """Brings the feed's own words and what is odd in it up to date, unsaved.

    `left_out` are the ids of its posts that are not sent, being older than the feed's adding.
    """
    assert reading.parsed is not None  # noqa: S101 - only for parsed documents
    feed.title = feed.title or reading.parsed.title
    feed.site_url = reading.parsed.link or feed.site_url
    feed.description = reading.parsed.description or feed.description
    feed.language = reading.parsed.language[:35] or feed.language
    feed.restless_polls = restless_after(feed.restless_polls, plan.restless)
    # When the newest posts were published; for those that do not say, when they were first seen.
    published = {id_: entry.published for id_, entry in reading.document.entries.items()}
    chosen = newest_ids(list(published), published, RHYTHM_POSTS)
    dates = [date for id_ in chosen if (date := published[id_]) is not None]
    undated = [id_ for id_ in chosen if published[id_] is None]
    if undated:
        seen = Item.objects.filter(feed=feed, guid_hash__in=undated).order_by()
        dates += seen.values_list("first_seen", flat=True)
    feed.rhythm_minutes = rhythm_minutes(dates, moment)
    before = [feed.newest_at] if feed.newest_at else []
    feed.newest_at = max([*before, *(date for date in dates if date <= moment)], default=None)
    warnings = (*_warnings(feed, reading, plan, left_out), *reading.parsed.warnings)
    feed.warning = "\n".join(warnings[:MAX_WARNINGS])


def _warnings(feed: Feed, reading: Reading, plan: PollPlan, left_out: Collection[str]) -> Iterator[str]:
    if feed.restless_polls >= RESTLESS:
        yield RESTLESS_FEED.format(feed.max_delay_minutes)
    if plan.flicker:
        yield FLICKERING.format(feed.max_delay_minutes)
    if plan.habitual:
        yield HABITUAL
    elif plan.stranger or (plan.all_unknown and not plan.reposts):
        yield ALL_UNKNOWN
    if left_out:
        latest = next(id_ for id_ in reading.document.newest_first() if id_ in left_out)
        entry = reading.entries.get(latest)
        name = (entry.title or entry.link) if entry else reading.guids[latest]
        are = "is" if len(left_out) == 1 else "are"
        yield LEFT_OUT.format(counted_posts(len(left_out)), are, shortened(name, MAX_NAMED_TITLE))
