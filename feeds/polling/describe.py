from collections.abc import Collection, Iterator

from common.text import shortened
from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.posts import counted_posts
from feeds.polling.known_items import HOLDERS, hashes_of, packed
from feeds.polling.read import CONDITIONS, Reading
from feeds.rules.facts import PollPlan, newest_ids
from feeds.rules.rhythm import RESTLESS, RHYTHM_POSTS, restless_after, rhythm_minutes

MAX_WARNINGS = 20
RESTLESS_FEED = (
    "Every post changes at every reading, perhaps because of a clock, a counter or an ad. "
    "They are sent after the longest delay ({} minutes)."
)
HABITUAL = (
    "Posts keep getting new ids. They are recognised by their addresses and not sent again. "
    "If these are new posts at the same address, switch off “recognise reposts”."
)
ALL_UNKNOWN = (
    "None of its posts has a known id. It publishes more between two readings than it "
    "shows, it has moved, another site answers at its address, or it makes up new ids at every reading."
)
FLICKERING = (
    "Posts disappear and return between readings: perhaps two copies of it answer in turn. They are sent "
    "after the longest delay ({} minutes)."
)
LEFT_OUT = (
    "{} {} left out because they are older than the day the feed was added; the first is “{}”. To send one "
    "anyway, use “Send after all” on its page."
)
MAX_NAMED_TITLE = 100


def keep_document(feed: Feed, reading: Reading) -> None:
    assert reading.parsed is not None  # noqa: S101 - only for parsed documents
    document = {
        "body": reading.compressed,
        "headers": {**reading.headers, "url": reading.url},
        "channel": {**reading.parsed.channel.to_json(), HOLDERS: reading.holders or {}},
        "sha256": reading.sha256,
        "fetched_at": reading.moment,
        "sent_at": reading.moment,
    }
    if reading.guids:  # without entries nothing is withdrawn: the previous order stays
        document["order"] = packed(reading.document.newest_first())
    document["hashes"] = hashes_of(reading.document)
    if not FeedDocument.objects.filter(feed=feed).update(**document):
        FeedDocument.objects.create(feed=feed, **{"order": b"", **document})


def keep_answer(feed: Feed, reading: Reading) -> None:
    changes = {"sent_at": reading.moment} if reading.was_sent else {}
    FeedDocument.objects.filter(feed=feed).update(
        fetched_at=reading.moment, headers={**reading.headers, "url": reading.url}, **changes
    )


def keep_order(feed: Feed, reading: Reading, plan: PollPlan) -> None:
    brought = {insert.id for insert in plan.insert}.union(plan.restart.values())
    changed = brought.union(plan.rewrite.values(), plan.deferred)
    document = FeedDocument.objects.filter(feed=feed).only("order", "headers", "channel").first()
    if document is None or not (changed or reading.before):
        return
    front = packed(id_ for id_ in reading.document.newest_first() if id_ in brought)
    # No conditions next time: "not modified" would not prove that the feed still holds what was pushed.
    headers = {name: value for name, value in document.headers.items() if name not in CONDITIONS}
    FeedDocument.objects.filter(feed=feed).update(
        order=front + bytes(document.order),
        headers=headers,
        sha256="",
        channel={**document.channel, HOLDERS: reading.holders or {}},
    )


def describe(feed: Feed, reading: Reading, plan: PollPlan, *, left_out: Collection[str] = ()) -> None:
    """Change the feed's fields, unsaved.

    `left_out`: ids of posts older than the feed's adding.
    """
    assert reading.parsed is not None  # noqa: S101 - only for parsed documents
    feed.title = feed.title or reading.parsed.title
    feed.site_url = reading.parsed.link or feed.site_url
    feed.description = reading.parsed.description or feed.description
    feed.language = reading.parsed.language[:35] or feed.language
    feed.restless_polls = restless_after(feed.restless_polls, plan.restless)
    # Undated posts count from when they were first seen.
    published = {id_: entry.published for id_, entry in reading.document.entries.items()}
    chosen = newest_ids(list(published), published, RHYTHM_POSTS)
    dates = [date for id_ in chosen if (date := published[id_]) is not None]
    undated = [id_ for id_ in chosen if published[id_] is None]
    if undated:
        seen = Item.objects.filter(feed=feed, guid_hash__in=undated).order_by()
        dates += seen.values_list("first_seen", flat=True)
    feed.rhythm_minutes = rhythm_minutes(dates, reading.moment)
    before = [feed.newest_at] if feed.newest_at else []
    feed.newest_at = max([*before, *(date for date in dates if date <= reading.moment)], default=None)
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
