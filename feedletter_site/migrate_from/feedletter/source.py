"""feedletter 0.2, the Scala program that Feedletter succeeds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction

from common.admin.refusals import refusal_sentence
from common.refused import Refused
from common.text import pluralize, without_controls
from delivery.customisation import set_theme
from delivery.issues.pause import pause_newsletter
from feedletter_site.migrate_from.feedletter.bridges import (
    Connection,
    connected,
    planned_accounts,
    take_accounts,
)
from feedletter_site.migrate_from.feedletter.confirmations import UNASKED
from feedletter_site.migrate_from.feedletter.dump import Row, read_database, read_dump
from feedletter_site.migrate_from.feedletter.letters import planned_queues, subscriptions_of, take_queues
from feedletter_site.migrate_from.feedletter.model import (
    FIXED,
    OldAccount,
    OldCollection,
    OldFeed,
    OldItem,
    OldNewsletter,
    OldSubscription,
)
from feedletter_site.migrate_from.feedletter.rows import BLUESKY, MASTODON, feed_keys, interpret
from feedletter_site.migrate_from.feedletter.salts import SALT, keep_salt, place_of
from feedletter_site.migrate_from.report import ImportResult, Line, Origins, TakenMeanwhile
from feedletter_site.migrate_from.source import Options, Plan
from feeds.adding.add import new_feed
from feeds.adding.edit import alter_feed
from feeds.adding.known import KnownPost, add_known_feed, known_item
from feeds.models import Feed, Item
from feeds.parsing.document import parse
from feeds.parsing.entry import ParseError
from feeds.parsing.identity import content_hash
from feeds.polling.read import FetchResult, clean_entry
from subscriptions.lists.importer import import_subscribers
from subscriptions.lists.reading import Terms
from subscriptions.models import Assignable, Assignment, OldName, SeenLink, Subscribable
from subscriptions.newsletters.define import define_subscribable, unused_name
from subscriptions.rules.collections import within_type_id_for
from subscriptions.rules.lists.formulas import as_text
from subscriptions.rules.periods import period_for

FEED = "feed"
PAUSED = "Imported from feedletter. Check the newsletter, then resume sending."
AGREED = "Imported from feedletter."
STALE = "Its issue in feedletter was over and never sent."
ROWS_A_BATCH = 1000
DONE = (Item.State.CLEARED, Item.State.EXCLUDED)


class Feedletter:
    key = "feedletter"
    name = "feedletter (Scala)"
    file_help = "A plain dump, made with feedletter’s db-dump or pg_dump."
    second = ""
    second_help = ""
    needs_second = False
    needs_zone = True
    needs_reader = False
    has_unsent = True
    secrets = (SALT, MASTODON.secret, BLUESKY.secret, "mail.smtp.host")

    def __init__(self) -> None:
        self._sessions = self._place = 0
        self._salt = ""

    def read(self, place: str, *, options: Options, now: datetime) -> Plan:
        """Raises Refused."""
        try:
            tables = self._tables(place)
            self._salt = options.secrets.get(SALT, "")
            self._place = place_of(self._salt, feeds=feed_keys(tables), source=self.key)
            old = interpret(tables, options=options, place=self._place, now=now)
        except Refused:
            raise
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise Refused(f"The database is damaged: {type(error).__name__}, {str(error)[:200]}") from error
        lines = [line for feed in old.feeds for line in feed.lines]
        return Plan(
            [FeedPart(feed) for feed in old.feeds], [*old.refused, *lines], old.notes, old.environment
        )

    def _tables(self, place: str) -> Mapping[str, Sequence[Row]]:
        if place.startswith(("postgres://", "postgresql://")):
            tables, self._sessions = read_database(place)
            return tables
        try:
            with Path(place).open(encoding="utf-8", newline="\n") as stream:
                return read_dump(stream)
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{place} can’t be read: {error}") from error

    def prepare(self, *, now: datetime) -> None:
        """Raises Refused while feedletter may run."""
        if self._sessions:
            raise Refused(
                f"{pluralize(self._sessions, 'other session')} use its database. Stop feedletter and close"
                " other programs, or both will send."
            )
        keep_salt(self._salt, self._place)


@dataclass(slots=True)
class FeedPart:
    """A feed with its posts, newsletters and subscribers, imported in one transaction."""

    feed: OldFeed

    @property
    def name(self) -> str:
        return self.feed.url

    def preview(self, origins: Origins) -> Sequence[Line]:
        if origins.find(FEED, self.feed.key):
            return [self._there()]
        return list(self._planned())

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        if origins.find(FEED, self.feed.key):
            return [self._there()]
        connections = connected(self.feed.newsletters)
        try:
            with transaction.atomic():
                _feed, lines = self._take(origins, now, connections)
        except TakenMeanwhile:
            return [self._there()]
        except (Refused, ValidationError) as error:
            return [Line(ImportResult.REFUSED, "feed", self.name, refusal_sentence(error))]
        return lines

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        if origins.find(FEED, self.feed.key):
            return None
        return new_feed(url=self.feed.url, now=now)

    def take_feed(
        self, origins: Origins, answer: FetchResult, *, now: datetime
    ) -> tuple[Feed, Mapping[int, str]]:
        feed, _lines = self._take(origins, now, {})
        waiting = Item.objects.unassigned().filter(feed=feed)
        return feed, dict(waiting.values_list("pk", "title"))

    def _there(self) -> Line:
        return Line(ImportResult.THERE, "feed", self.name, "It was imported before.")

    def _planned(self) -> Iterator[Line]:
        old = self.feed
        states = [_state(item, old) for item in old.items]
        known = pluralize(sum(state in DONE for state in states), "post")
        waiting = len(states) - sum(state in DONE for state in states)
        yield Line(ImportResult.TAKEN, "feed", self.name, f"{known} known, {waiting} waiting to be sent.")
        for newsletter in old.newsletters:
            if newsletter.is_bridge:
                kind, to = "bridge", pluralize(len(newsletter.accounts), "account")
            else:
                kind, to = "newsletter", pluralize(len(newsletter.subscriptions), "subscriber")
            words = f"{_pace(newsletter)}, {to}. Sending is paused until you resume it."
            yield Line(ImportResult.TAKEN, kind, newsletter.name, words)
            yield from planned_accounts(newsletter)
            yield from planned_queues(newsletter)

    def _take(
        self, origins: Origins, now: datetime, connections: Mapping[OldAccount, Connection]
    ) -> tuple[Feed, list[Line]]:
        """In the caller's transaction. Raises ValidationError and TakenMeanwhile."""
        old = self.feed
        feed = add_known_feed(
            url=old.url, title="", read_from=old.added, read_until=old.read_until, now=now, **old.timings
        )
        origins.note(FEED, old.key, feed.pk, now=now, finished=True)
        # It knew all posts of the feed, so the others are new.
        feed.read_elsewhere_until, feed.fetched_through = None, old.read_until
        feed.save(update_fields=["read_elsewhere_until", "fetched_through"])
        lines = list(self._planned())
        items = self._take_items(feed, lines)
        for newsletter in old.newsletters:
            lines += _take_newsletter(newsletter, feed, items, connections, origins, now)
        alter_feed(feed=feed, status=Feed.Status.ACTIVE)
        return feed, lines

    def _take_items(self, feed: Feed, lines: list[Line]) -> dict[str, Item]:
        """Return the rows by guid."""
        rows: dict[str, Item] = {}
        for old in self.feed.items:
            row = _row(feed, old, _state(old, self.feed), old.guid in self.feed.stale)
            if row is None:
                words = "Its stored text can’t be read. It counts as new if the feed still has it."
                lines.append(Line(ImportResult.REFUSED, "post", old.link or old.guid, words))
            else:
                rows[row.guid] = row
        Item.objects.bulk_create(rows.values(), batch_size=ROWS_A_BATCH)
        return rows


def _state(old: OldItem, feed: OldFeed) -> str:
    """Return our state. Posts that it assigned to nothing had been refused or sent (BUG-18)."""
    if old.guid in feed.stale:
        return Item.State.EXCLUDED
    if old.state == "Assigned":
        return Item.State.ASSIGNED if old.guid in feed.waiting else Item.State.CLEARED
    return {"Unassigned": Item.State.UNASSIGNED, "Excluded": Item.State.EXCLUDED}.get(
        old.state, Item.State.CLEARED
    )


def _row(feed: Feed, old: OldItem, state: str, is_stale: bool) -> Item | None:
    """Return None if the content is needed and unreadable."""
    known = KnownPost(old.guid, old.first_seen, was_sent=state != Item.State.EXCLUDED)
    row = known_item(feed, old.guid, known, old.link, Feedletter.key)
    row.stable_since, row.state = old.stable_since, state
    if is_stale:
        row.reason = STALE
    if state in DONE:
        return row
    try:
        parsed = parse(old.document.encode(), content_type="application/rss+xml", url=feed.url)
        (entry,) = parsed.entries
    except (ParseError, ValueError):
        return None
    row.reason, row.title, row.published_at = "", entry.title, entry.published
    row.content_hash, row.entry = content_hash(entry), clean_entry(entry, feed.url).to_json()
    row.final_at = old.stable_since if state == Item.State.ASSIGNED else None
    return row


def _take_newsletter(
    old: OldNewsletter,
    feed: Feed,
    items: Mapping[str, Item],
    connections: Mapping[OldAccount, Connection],
    origins: Origins,
    now: datetime,
) -> Iterable[Line]:
    name = unused_name(old.name)
    newsletter = define_subscribable(
        name=name,
        feeds=[feed],
        channel=old.channel,
        visibility=Subscribable.Visibility.UNLISTED,
        arrangement=old.arrangement,
        time_zone=old.zone,
        from_email=old.sender,
        reply_to=old.reply_to,
        params=dict(old.params),
        **({"n": old.n} if old.arrangement == FIXED else {}),
        **({"weekday": old.weekday} if old.arrangement == "weekly" else {}),
    )
    pause_newsletter(subscribable_id=newsletter.pk, reason=PAUSED, now=now)
    if not old.is_bridge:
        # Readers' filters know them.
        set_theme(subscribable=newsletter, subject="{upstream}")
    if name != old.name:
        yield _renamed(old, newsletter)
    _note_links(newsletter, items.values())
    newsletter.counter = old.counter
    for collection in old.collections:
        if not collection.is_stale:
            _take_collection(newsletter, collection, items, now)
    if newsletter.schedule.has_periods:
        opened = [one.opened for one in old.collections if not one.is_stale]
        newsletter.issued_through = period_for(
            min(opened, default=now), newsletter.schedule, newsletter.zone
        ).start
    newsletter.save(update_fields=["counter", "issued_through"])
    yield from _take_subscribers(newsletter, old.subscriptions, now)
    unasked = frozenset(one.number for one in old.subscriptions if one.is_unasked)
    for number, pk in subscriptions_of(newsletter, unasked).items():
        if pk is not None:
            origins.note(UNASKED, str(number), pk, now=now)
    yield from take_accounts(old, newsletter, connections, words=AGREED, now=now)
    yield from take_queues(old, newsletter, now=now)


def _renamed(old: OldNewsletter, newsletter: Subscribable) -> Line:
    """Let old sign-up forms find it, unless their name is another newsletter's."""
    kind, name = "bridge" if old.is_bridge else "newsletter", newsletter.name
    # As forms send it.
    old_name = without_controls(old.name).strip()
    if old.is_bridge:
        words = f"Its name here is {name}."
    elif Subscribable.objects.named(old_name).exists() or OldName.objects.filter(name=old_name).exists():
        words = (
            f"Its name here is {name}, because there is another {old_name}. Change subscribableName in its"
            " sign-up forms."
        )
    else:
        OldName.objects.create(subscribable=newsletter, name=old_name)
        words = f"Its name here is {name}. Its old sign-up forms still work."
    return Line(ImportResult.CHANGED, kind, old.name, words)


def _note_links(newsletter: Subscribable, items: Iterable[Item]) -> None:
    """A second feed of the newsletter must not repeat what was sent."""
    sent = {item.link_hash: item for item in items if item.state == Item.State.CLEARED and item.link_hash}
    rows = (SeenLink(subscribable=newsletter, link_hash=key, item=item) for key, item in sent.items())
    SeenLink.objects.bulk_create(rows, batch_size=ROWS_A_BATCH)


def _take_collection(
    newsletter: Subscribable, old: OldCollection, items: Mapping[str, Item], now: datetime
) -> None:
    """Open it in the period of its opening, whatever its label says (BUG-6)."""
    rows = [items[guid] for guid in old.guids if guid in items]
    rows = [row for row in rows if row.state == Item.State.ASSIGNED]
    if not rows:
        return
    period = (
        period_for(old.opened, newsletter.schedule, newsletter.zone)
        if newsletter.schedule.has_periods
        else None
    )
    arrangement = str(newsletter.arrangement)
    assignable = Assignable.objects.create(
        subscribable=newsletter,
        within_type_id=within_type_id_for(arrangement, period=period, counter=old.number),
        opened_at=old.opened,
        next_try_at=now,
        period_start=period.start if period else None,
        period_end=period.end if period else None,
        capacity=newsletter.n,
    )
    Assignment.objects.bulk_create(
        Assignment(assignable=assignable, item=row, assigned_at=old.opened) for row in rows
    )


def _take_subscribers(
    newsletter: Subscribable, subscriptions: Sequence[OldSubscription], now: datetime
) -> Iterator[Line]:
    if not subscriptions:
        return
    report = import_subscribers(
        subscribable=newsletter, lines=_list(subscriptions), now=now, terms=Terms(words=AGREED)
    )
    for row in report.refused:
        yield Line(ImportResult.REFUSED, "subscriber", ", ".join(row.cells[:1]), row.reason)
    if same := len(subscriptions) - report.added - report.refused_count:
        words = (
            f"{pluralize(same, 'subscription')} had the address of another, in upper or lower case. They’re"
            " one here, and all their old links work."
        )
        yield Line(ImportResult.CHANGED, "subscriber", str(newsletter), words)


def _list(subscriptions: Sequence[OldSubscription]) -> Iterator[str]:
    """Yield CSV lines; doubled quotes are all that CSV needs within quotes."""
    yield '"email","name","status","added","upstream_id"\n'
    for one in subscriptions:
        cells = (
            as_text(one.address),
            as_text(one.name),
            "confirmed" if one.is_confirmed else "unconfirmed",
            one.added.isoformat(),
            str(one.number),
        )
        yield ",".join('"{}"'.format(cell.replace('"', '""')) for cell in cells) + "\n"


def _pace(newsletter: OldNewsletter) -> str:
    if newsletter.arrangement == FIXED:
        return f"Every {newsletter.n} posts"
    return {"each": "Each post", "daily": "Daily", "weekly": "Weekly"}[newsletter.arrangement]
