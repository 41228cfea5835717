"""feedletter 0.2, the Scala program that Feedletter succeeds."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import Q

from common.formats.pg_dump import PLAIN, START, refuse_unless_plain
from common.refused import Refused
from common.text import pluralize, without_controls
from delivery.customisation import set_theme
from delivery.issues.pause import pause_newsletter
from feedletter_site.migrate_from.again import FEED, NEWSLETTER, WholeFeed, end_gone, gone_lines, mark_sent
from feedletter_site.migrate_from.feedletter.bridges import (
    Connection,
    connected,
    planned_accounts,
    take_accounts,
)
from feedletter_site.migrate_from.feedletter.confirmations import UNASKED
from feedletter_site.migrate_from.feedletter.dump import Row, read_database, read_dump, text
from feedletter_site.migrate_from.feedletter.model import (
    FIXED,
    OldAccount,
    OldCollection,
    OldFeed,
    OldItem,
    OldNewsletter,
    OldSubscription,
)
from feedletter_site.migrate_from.feedletter.queues import owners_of, take_queues
from feedletter_site.migrate_from.feedletter.rows import BLUESKY, MASTODON, feed_keys, interpret
from feedletter_site.migrate_from.feedletter.salts import SALT, keep_salt, place_of
from feedletter_site.migrate_from.source import ImportResult, Line, Options, Origins, Plan
from feeds.adding.add import alter_feed
from feeds.adding.known import KnownPost, add_known_feed, known_item
from feeds.models import Feed, Item
from feeds.parsing.document import parse
from feeds.parsing.entry import ParseError
from feeds.parsing.identity import content_hash
from feeds.polling.read import clean_entry, digest
from subscriptions.lists.importer import import_subscribers
from subscriptions.lists.reading import Terms
from subscriptions.models import Assignable, Assignment, OldName, SeenLink, Subscribable, Subscription
from subscriptions.newsletters.define import define_subscribable, unused_name
from subscriptions.rules.collections import within_type_id_for
from subscriptions.rules.invitations import number_here, numbers_of
from subscriptions.rules.lists.formulas import as_text
from subscriptions.rules.periods import period_for

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
        numbers = (int(text(row, "subscription_id")) for row in tables["subscription"])
        here = frozenset(number_here(number, self._place) for number in numbers)
        as_of = max((feed.read_until for feed in old.feeds), default=now)
        parts = [FeedPart(feed, self._place, here, as_of, options.keeps_queued) for feed in old.feeds]

        def gone(origins: Origins) -> Iterator[Line]:
            newsletters = [part.newsletter_key(one) for part in parts for one in part.feed.newsletters]
            yield from gone_lines(origins, FEED, [part.old_key for part in parts], Feed.objects.all())
            yield from gone_lines(origins, NEWSLETTER, newsletters, Subscribable.objects.all())

        refused = [*old.refused, *(line for feed in old.feeds for line in feed.lines)]
        return Plan(parts, refused, old.notes, old.environment, gone=gone)

    def _tables(self, place: str) -> Mapping[str, Sequence[Row]]:
        if place.startswith(("postgres://", "postgresql://")):
            tables, self._sessions = read_database(place)
            return tables
        try:
            with Path(place).open("rb") as file:
                refuse_unless_plain(file.read(START))
            with Path(place).open(encoding="utf-8", newline="\n") as stream:
                return read_dump(stream)
        except IsADirectoryError as error:
            raise Refused(f"{place} is a folder. {PLAIN}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{place} can’t be read: {error}. {PLAIN}") from error

    def prepare(self, *, now: datetime) -> None:
        """Raises Refused while feedletter may run."""
        if self._sessions:
            raise Refused(
                f"{pluralize(self._sessions, 'other session uses', 'other sessions use')} its database. Stop"
                " feedletter and close other programs, or both will send."
            )
        keep_salt(self._salt, self._place)


@dataclass
class FeedPart(WholeFeed):
    """A feed with its posts, newsletters and subscribers.

    `numbers` has all subscriptions of the database, whose place is `place`; `as_of`: when it last read feeds.
    """

    feed: OldFeed
    place: int
    numbers: frozenset[int]
    as_of: datetime
    keeps_queued: bool

    @property
    def name(self) -> str:
        return self.feed.url

    @property
    def old_key(self) -> str:
        return self.feed.key

    def newsletter_key(self, newsletter: OldNewsletter) -> str:
        return f"{self.feed.key}/{digest(newsletter.name)[:32]}"

    def ask(self, now: datetime) -> Mapping[OldAccount, Connection]:
        return connected(self.feed.newsletters)

    def add(self, origins: Origins, now: datetime, answers: Any) -> tuple[Feed, list[Line]]:
        old = self.feed
        feed = add_known_feed(
            url=old.url, title="", read_from=old.added, read_until=old.read_until, now=now, **old.timings
        )
        origins.note(FEED, old.key, feed.pk, now=now, finished=True)
        # It knew all posts of the feed, so the others are new.
        feed.read_elsewhere_until, feed.fetched_through = None, old.read_until
        feed.save(update_fields=["read_elsewhere_until", "fetched_through"])
        states = [_state(item, old) for item in old.items]
        known = pluralize(sum(state in DONE for state in states), "post")
        waiting = len(states) - sum(state in DONE for state in states)
        words = f"{known} known, {waiting} waiting to be sent."
        lines = [Line(ImportResult.TAKEN, "feed", self.name, words)]
        items = self._add_items(feed, None, lines)
        for each in old.newsletters:
            lines += self._add_newsletter(each, feed, items, origins, now)
            lines += self._take_people(each, origins, now, answers, is_new=True)
        alter_feed(feed=feed, status=Feed.Status.ACTIVE)
        return feed, lines

    def add_more(self, feed: Feed, origins: Origins, now: datetime, answers: Any) -> list[Line]:
        old, lines = self.feed, list[Line]()
        known = frozenset(feed.items.values_list("guid_hash", flat=True))
        if added := self._add_items(feed, known, lines):
            words = f"{pluralize(len(added), 'more post')} known."
            lines.append(Line(ImportResult.TAKEN, "feed", self.name, words))
        if not origins.all(NEWSLETTER, old.key):
            # Release 0.1.0 noted none.
            for each in old.newsletters:
                named = Q(name=each.name) | Q(old_names__name=without_controls(each.name).strip())
                for pk in feed.subscribables.filter(named).values_list("pk", flat=True)[:1]:
                    origins.note(NEWSLETTER, self.newsletter_key(each), pk, now=now, finished=True)
        here = {each.name: origins.find(NEWSLETTER, self.newsletter_key(each)) for each in old.newsletters}
        sent = {row.row: self._sent(each) for each in old.newsletters if (row := here[each.name])}
        lines += mark_sent(feed, sent, sender=Feedletter.key, now=now)
        for each in old.newsletters:
            if here[each.name] is None:
                items = {item.guid: item for item in feed.items.defer("entry")}
                lines += self._add_newsletter(each, feed, items, origins, now)
            lines += self._take_people(each, origins, now, answers, is_new=here[each.name] is None)
        return lines

    def _sent(self, newsletter: OldNewsletter) -> Iterator[str]:
        """Yield the digests of posts that the newsletter got, or won’t get any more."""
        live = {guid for one in newsletter.collections if not one.is_stale for guid in one.guids}
        for item in self.feed.items:
            state = _state(item, self.feed)
            if state == Item.State.CLEARED or (state == Item.State.ASSIGNED and item.guid not in live):
                yield digest(item.guid)

    def _add_newsletter(
        self, old: OldNewsletter, feed: Feed, items: Mapping[str, Item], origins: Origins, now: datetime
    ) -> Iterator[Line]:
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
        origins.note(NEWSLETTER, self.newsletter_key(old), newsletter.pk, now=now, finished=True)
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

    def _take_people(
        self, old: OldNewsletter, origins: Origins, now: datetime, answers: Any, *, is_new: bool
    ) -> Iterator[Line]:
        """Add who came, confirm who confirmed, and end who left."""
        origin = origins.find(NEWSLETTER, self.newsletter_key(old))
        newsletter = Subscribable.objects.filter(pk=origin.row).first() if origin else None
        if newsletter is None:
            yield Line(ImportResult.THERE, "newsletter", old.name, "It was deleted here.")
            return
        owners = owners_of(self.numbers)
        ours = newsletter.subscriptions.filter(upstream_id__range=numbers_of(self.place))
        waiting = newsletter.subscriptions.filter(status=Subscription.Status.UNCONFIRMED)
        unconfirmed = frozenset(waiting.values_list("pk", flat=True))
        confirming = [
            one for one in old.subscriptions if one.is_confirmed and owners.get(one.number) in unconfirmed
        ]
        coming = [one for one in old.subscriptions if one.number not in owners]
        new = replace(old, accounts=tuple(one for one in old.accounts if one.number not in owners))
        added, lines = _take_subscribers(newsletter, [*confirming, *coming], now, known=len(confirming))
        if is_new or added or confirming or new.accounts:
            people = pluralize(added, "subscriber")
            if old.is_bridge:
                people = pluralize(len(new.accounts), "account")
            words = f"{people} added, {len(confirming)} confirmed."
            if is_new:
                words = f"{_pace(old)}, {people}. Sending is paused until you resume it."
            kind = "bridge" if old.is_bridge else "newsletter"
            yield Line(ImportResult.TAKEN, kind, old.name, words)
        yield from planned_accounts(new)
        yield from lines
        _note_unasked(old, newsletter, origins, now)
        connections = answers if isinstance(answers, dict) else {}
        yield from take_accounts(new, newsletter, connections, words=AGREED, now=now)
        yield from take_queues(old, newsletter, adds=self.keeps_queued, now=now)
        stayed = frozenset(owners_of(self.numbers).values())
        yield from end_gone(
            ours.exclude(pk__any_of=stayed),
            known=ours.filter(pk__any_of=stayed).count(),
            sender=Feedletter.key,
            as_of=self.as_of,
            now=now,
        )

    def _add_items(self, feed: Feed, known: Collection[str] | None, lines: list[Line]) -> dict[str, Item]:
        """Add items, in a later import those whose digests aren’t known. Return the new rows by guid."""
        rows: dict[str, Item] = {}
        for old in self.feed.items:
            if known is not None and digest(old.guid) in known:
                continue
            state = _state(old, self.feed)
            if known is not None and state == Item.State.ASSIGNED:
                # Its collections here may have gone on, so it is assigned anew.
                state = Item.State.UNASSIGNED
            row = _row(feed, old, state, old.guid in self.feed.stale)
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


def _note_unasked(old: OldNewsletter, newsletter: Subscribable, origins: Origins, now: datetime) -> None:
    """Remember whom feedletter didn’t ask to confirm, and forget those whom it asked since."""
    unasked = frozenset(one.number for one in old.subscriptions if one.is_unasked)
    noted = origins.all(UNASKED)
    ours = frozenset(newsletter.subscriptions.filter(pk__in=noted.values()).values_list("pk", flat=True))
    for key, pk in noted.items():
        if pk in ours and int(key) not in unasked:
            origins.finish(UNASKED, key, now=now)
    for number, pk in owners_of(unasked).items():
        if str(number) not in noted:
            origins.note(UNASKED, str(number), pk, now=now)


def _take_subscribers(
    newsletter: Subscribable, subscriptions: Sequence[OldSubscription], now: datetime, *, known: int = 0
) -> tuple[int, list[Line]]:
    """Return how many are new. `known`: how many of the subscriptions aren’t."""
    if not subscriptions:
        return 0, []
    report = import_subscribers(
        subscribable=newsletter, lines=_list(subscriptions), now=now, terms=Terms(words=AGREED)
    )
    lines = [
        Line(ImportResult.REFUSED, "subscriber", ", ".join(row.cells[:1]), row.reason)
        for row in report.refused
    ]
    if same := len(subscriptions) - known - report.added - report.refused_count:
        words = (
            f"{pluralize(same, 'subscription')} had the address of another, such as in upper or lower case."
            " They’re one here, and all their old links work."
        )
        lines.append(Line(ImportResult.CHANGED, "subscriber", str(newsletter), words))
    return report.added, lines


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
