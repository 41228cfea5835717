from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from common.clock import utcnow
from common.net.client import SafeClient, client
from common.transactions import forbid_open_transaction
from feeds.models import Feed, FeedDocument, Item
from feeds.polling.claims import asks
from feeds.polling.known_items import DONE, chunks, kept_feed, open_items
from feeds.polling.read import Reading, fetch, reading_of
from feeds.polling.store import look_up, plan_of
from feeds.rules.facts import Known, PollPlan
from feeds.rules.forecast import Forecast, forecast

AT_MOST = 500
READ = "read"
UNCHANGED = "unchanged"
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class DryRunRow:
    """`pk` is None for a new item."""

    pk: int | None
    guid: str
    title: str
    link: str
    published: datetime | None
    event: str
    why: str
    fate: str
    settles: datetime | None


@dataclass(frozen=True, slots=True)
class DryRun:
    """`outcome` is read, unchanged or failed (with `error`). `more`: number of rows left out.

    `events`: counts, most frequent first.
    """

    feed: Feed
    moment: datetime
    outcome: str
    error: str = ""
    status: int | None = None
    is_first: bool = False
    warnings: tuple[str, ...] = ()
    rows: tuple[DryRunRow, ...] = ()
    more: int = 0
    events: tuple[tuple[str, int], ...] = ()


def dry_run(
    *, feed_id: int, http: SafeClient | None = None, clock: Callable[[], datetime] = utcnow
) -> DryRun:
    """Raise Feed.DoesNotExist."""
    forbid_open_transaction()
    feed = Feed.objects.get(pk=feed_id)
    ask = asks([feed], clock())[0]
    return judged(feed, ask.feeds[feed.pk], fetch(ask, http or client(), clock))


def judged(feed: Feed, last: FeedDocument | None, answer: Reading) -> DryRun:
    """Return what an answer would do. `last`: the feed's last document."""
    status = answer.fetched.status if answer.fetched else None
    is_first = feed.first_polled_at is None
    reading = reading_of(last, answer)
    if reading.failure:
        return DryRun(feed, answer.moment, FAILED, str(reading.failure), status, is_first)
    outcome = UNCHANGED if reading.unchanged else READ
    known = Known(open_items(feed, lock=False)) if reading.unchanged else look_up(feed, reading)
    plan = plan_of(feed, reading, known)
    if reading.unchanged:
        # If it is readable.
        document = FeedDocument.objects.filter(feed=feed).first()
        if document is not None and (parsed := kept_feed(document)):
            url = document.headers.get("url", "")
            reading = Reading(b"", document.sha256, document.headers, url, answer.moment, parsed)
    run = _forecast(feed, plan, known, reading)
    return replace(run, outcome=outcome, status=status, is_first=is_first)


def _forecast(feed: Feed, plan: PollPlan, known: Known, reading: Reading) -> DryRun:
    moment, order = reading.moment, reading.document.newest_first()
    done: list[Item] = []
    for chunk in chunks(order):
        done += Item.objects.filter(feed=feed, guid_hash__in=chunk, state__in=DONE).order_by().defer("entry")
    forecasts = forecast(plan, known.items, done, feed, moment=moment)
    missing = [id_ for id_ in forecasts if id_ not in reading.guids]
    every = [*(id_ for id_ in order if id_ in forecasts), *missing]
    every.sort(key=lambda id_: forecasts[id_].is_quiet)
    return DryRun(
        feed,
        moment,
        READ,
        warnings=reading.parsed.warnings if reading.parsed else (),
        rows=tuple(_rows(reading, [forecasts[id_] for id_ in every[:AT_MOST]])),
        more=max(0, len(every) - AT_MOST),
        events=tuple(Counter(forecasts[id_].event for id_ in every).most_common()),
    )


def _rows(reading: Reading, forecasts: Sequence[Forecast]) -> Iterator[DryRunRow]:
    stored: dict[int, Item] = {}
    for chunk in chunks([one.pk for one in forecasts if one.pk]):
        stored |= Item.objects.only("guid", "title", "link", "published_at").order_by().in_bulk(chunk)
    for one in forecasts:
        item, entry = stored.get(one.pk or 0), reading.entries.get(one.id)
        source = entry or item
        published = entry.published if entry else item.published_at if item else None
        yield DryRunRow(
            pk=one.pk,
            guid=reading.guids.get(one.id) or (item.guid if item else ""),
            title=source.title if source else "",
            link=source.link if source else "",
            published=published,
            event=one.event,
            why=one.why,
            fate=one.fate,
            settles=one.settles,
        )


def sentence(run: DryRun) -> str:
    if run.outcome == FAILED:
        return f"The feed couldn’t be read. {run.error}"
    happening = [(event, count) for event, count in run.events if event != "unchanged"]
    if run.outcome == UNCHANGED:
        summary = "The feed hasn’t changed since the last reading."
    elif run.is_first:
        summary = "This would be the first reading."
    else:
        summary = "The feed has changed since the last reading."
    if not happening:
        return f"{summary} No post would change."
    counts = ", ".join(f"{count:,} {event}" for event, count in happening)
    return f"{summary} Of its posts: {counts}."


def remarks(run: DryRun) -> list[str]:
    notes = list(run.warnings)
    if run.feed.status != Feed.Status.ACTIVE:
        notes.append(
            f"The feed is {run.feed.get_status_display()}: it isn’t read, and its posts don’t settle."
        )
    if run.outcome == FAILED and run.feed.status == Feed.Status.ACTIVE:
        notes.append("A reading now would fail, and would be retried automatically.")
    return notes
