"""Import of a feed with its newsletters, in one transaction. A preview rolls back."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import formataddr, parseaddr
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from common.admin.refusals import refusal_sentence
from common.refused import Refused
from common.text import one_line, pluralize, without_controls
from delivery.customisation import set_theme
from delivery.issues.pause import pause_newsletter
from feedletter_site.migrate_from.again import (
    FEED,
    NEWSLETTER,
    end_gone,
    mark_sent,
    read_once,
    waiting_titles,
)
from feedletter_site.migrate_from.bridges import Connection, connected, take_accounts
from feedletter_site.migrate_from.confirmations import UNASKED
from feedletter_site.migrate_from.queues import owners_of, take_queues
from feedletter_site.migrate_from.source import Origins, Part
from feeds.adding.add import alter_feed, new_feed
from feeds.adding.known import add_known_feed, known_item, mark_known, sent_ids
from feeds.addresses import is_address
from feeds.credentials import split_address
from feeds.models import Feed, Item
from feeds.parsing.document import parse
from feeds.parsing.entry import ParseError
from feeds.parsing.identity import content_hash
from feeds.polling.read import Reading, clean_entry, digest
from migrate_from.records import (
    FIXED,
    Fate,
    ImportResult,
    Line,
    OldAccount,
    OldCollection,
    OldFeed,
    OldNewsletter,
    OldPost,
    OldSubscriber,
)
from subscriptions.lists.importer import import_subscribers
from subscriptions.lists.reading import Terms
from subscriptions.models import (
    Assignable,
    Assignment,
    Consent,
    OldName,
    SeenLink,
    Subscribable,
    Subscription,
)
from subscriptions.newsletters.define import define_subscribable, unused_name
from subscriptions.rules.collections import within_type_id_for
from subscriptions.rules.lists.formulas import as_text
from subscriptions.rules.schedule import period_for
from subscriptions.rules.sign_up import number_here, numbers_of
from subscriptions.subscribers.suppression import email_core

ROWS_A_BATCH = 1000
STATES = {
    Fate.SENT: Item.State.CLEARED,
    Fate.KNOWN: Item.State.EXCLUDED,
    Fate.WAITING: Item.State.ASSIGNED,
    Fate.UNSENT: Item.State.UNASSIGNED,
}
DONE = (Fate.SENT, Fate.KNOWN)


@dataclass(frozen=True, slots=True)
class Sender:
    """The other program. `agreed`: words of its subscribers’ consent.

    `numbers` has all subscriptions of its database, whose place is `place`; None if it numbers none.
    `as_of`: when it last ran.
    """

    name: str
    agreed: str
    as_of: datetime
    numbers: frozenset[int] | None = None
    place: int = 0
    keeps_queued: bool = False


class Answers(NamedTuple):
    """Of the servers that a feed needs. `guids`: posts of the document that were sent."""

    answer: Reading | None = None
    guids: Sequence[str] | None = None
    connections: Mapping[OldAccount, Connection] = {}


def newsletter_key(feed: OldFeed, newsletter: OldNewsletter) -> str:
    return feed.key if newsletter.is_private else f"{feed.key}/{digest(newsletter.name)[:32]}"


@dataclass(frozen=True, slots=True)
class FeedPart(Part):
    feed: OldFeed
    sender: Sender

    @property
    def name(self) -> str:
        return self.feed.name

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        with transaction.atomic():
            lines = self._lines_of(origins, now, Answers())
            transaction.set_rollback(True)
        return lines

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        try:
            answers = self._ask(now)
        except ValidationError as error:
            return [Line(ImportResult.REFUSED, "feed", self.name, refusal_sentence(error))]
        return self._lines_of(origins, now, answers)

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        """Nothing is predicted about a paused feed."""
        if not self.feed.is_active:
            return None
        origin = origins.find(FEED, self.feed.key)
        return Feed.objects.filter(pk=origin.row).first() if origin else new_feed(url=self.feed.url, now=now)

    def take_feed(
        self, origins: Origins, answer: Reading, *, now: datetime
    ) -> tuple[Feed, Mapping[int, str]]:
        feed, _lines = FeedImport(self.feed, self.sender, origins, self._answers(answer), now).run()
        return feed, waiting_titles(feed)

    def _ask(self, now: datetime) -> Answers:
        """Ask the services of bridges, and read the feed to recognise its posts (network)."""
        answers = Answers()
        if self.feed.recognise:
            answers = self._answers(read_once(self.feed.url, now=now))
        return answers._replace(connections=connected(self.feed.newsletters))

    def _answers(self, answer: Reading) -> Answers:
        guids, fetched = None, answer.fetched
        if self.feed.recognise and fetched is not None and answer.parsed is not None:
            kind = fetched.headers.get("content-type", "")
            guids = self.feed.recognise(fetched.body, kind, fetched.url)
        return Answers(answer, guids)

    def _lines_of(self, origins: Origins, now: datetime, answers: Answers) -> Sequence[Line]:
        try:
            with transaction.atomic():
                return FeedImport(self.feed, self.sender, origins, answers, now).run()[1]
        except (Refused, ValidationError) as error:
            return [Line(ImportResult.REFUSED, "feed", self.name, refusal_sentence(error))]


@dataclass(frozen=True, slots=True)
class FeedImport:
    """Adds a feed, or what is new of it, in the caller’s transaction. Raises Refused and ValidationError."""

    feed: OldFeed
    sender: Sender
    origins: Origins
    answers: Answers
    now: datetime

    def run(self) -> tuple[Feed, list[Line]]:
        if (origin := self.origins.find(FEED, self.feed.key)) is None:
            return self._add()
        feed = Feed.objects.filter(pk=origin.row).first()
        if feed is None:
            raise Refused("It was imported before, and deleted here.")
        lines = self._add_more(feed)
        if all(line.fate is ImportResult.REFUSED for line in lines):
            there = Line(ImportResult.THERE, "feed", self.feed.name, "It was imported before.")
            lines.insert(0, there)
        return feed, lines

    def _add(self) -> tuple[Feed, list[Line]]:
        old = self.feed
        if not is_address(split_address(old.url)[0]):
            raise Refused("Its address is not an http or https URL.")
        feed = add_known_feed(
            url=old.url,
            title="",
            read_from=old.read_from or self.now,
            read_until=old.read_until,
            now=self.now,
            **old.timings,
        )
        self.origins.note(FEED, old.key, feed.pk, now=self.now, finished=True)
        known, items, lines = self._add_posts(feed, None)
        waiting = sum(post.fate not in DONE for post in old.posts)
        posts = pluralize(known, "post") if self.answers.answer or not old.recognise else "Its posts"
        paused = "" if old.is_active else " It is paused, as it was."
        words = f"{posts} known, {waiting} waiting to be sent.{paused}"
        lines = [Line(ImportResult.TAKEN, "feed", self.feed.name, words), *old.lines, *lines]
        for each in old.newsletters:
            lines += self._add_newsletter(each, feed, items)
            lines += self._take_people(each, is_new=True)
        alter_feed(feed=feed, status=Feed.Status.ACTIVE if old.is_active else Feed.Status.PAUSED)
        return feed, lines

    def _add_more(self, feed: Feed) -> list[Line]:
        old = self.feed
        known = frozenset(feed.items.values_list("guid_hash", flat=True)) if old.knows_all else frozenset()
        more, _items, lines = self._add_posts(feed, known)
        if more:
            words = f"{pluralize(more, 'more post')} known."
            lines.append(Line(ImportResult.TAKEN, "feed", self.feed.name, words))
        keys = {each.name: newsletter_key(old, each) for each in old.newsletters}
        if not any(self.origins.find(NEWSLETTER, key) for key in keys.values()):
            # Release 0.1.0 noted none.
            for each in old.newsletters:
                named = Q(name=each.name) | Q(old_names__name=without_controls(each.name).strip())
                rows = feed.subscribables.filter(Q() if each.is_private else named).order_by("pk")
                for pk in rows.values_list("pk", flat=True)[:1]:
                    self.origins.note(NEWSLETTER, keys[each.name], pk, now=self.now, finished=True)
        here = {each.name: self.origins.find(NEWSLETTER, keys[each.name]) for each in old.newsletters}
        sent = {row.row: self._sent(each) for each in old.newsletters if (row := here[each.name])}
        lines += mark_sent(feed, sent, sender=self.sender.name, now=self.now)
        for each in old.newsletters:
            if here[each.name] is None:
                items = {item.guid: item for item in feed.items.defer("entry")}
                lines += self._add_newsletter(each, feed, items)
            lines += self._take_people(each, is_new=here[each.name] is None)
        return lines

    def _add_posts(
        self, feed: Feed, known: Collection[str] | None
    ) -> tuple[int, dict[str, Item], list[Line]]:
        """Add posts, in a later import those with other digests. Return how many, and the items by guid.

        The first time, posts that wait aren’t counted.
        """
        old = self.feed
        if old.knows_all:
            if known is None:
                # The others are new.
                feed.read_elsewhere_until, feed.fetched_through = None, old.read_until
                feed.save(update_fields=["read_elsewhere_until", "fetched_through"])
            rows, lines = self._add_items(feed, known)
            done = [row for row in rows.values() if known is not None or row.entry is None]
            return len(done), rows, lines
        marked = mark_known(feed=feed, posts=self._sent_posts(), sender=self.sender.name)
        lines = []
        if self.answers.guids is not None:
            # Each post of the feed was compared, so the others are new.
            feed.read_elsewhere_until = None
        if self.answers.answer and old.has_hashes and not self.answers.guids:
            why = "Its posts were known by their text, which couldn’t be compared. New posts wait for you."
            lines.append(Line(ImportResult.CHANGED, "feed", self.feed.name, why))
            feed.hold_next = True
        feed.save(update_fields=["read_elsewhere_until", "hold_next"])
        return marked, {}, lines

    def _sent_posts(self) -> list[OldPost]:
        at = self.feed.read_until
        known = [OldPost(guid, at, Fate.SENT) for guid in self.answers.guids or () if guid and at]
        return [*self.feed.posts, *known]

    def _add_items(self, feed: Feed, known: Collection[str] | None) -> tuple[dict[str, Item], list[Line]]:
        rows, lines = dict[str, Item](), []
        for old in self.feed.posts:
            if known is not None and digest(old.guid) in known:
                continue
            state = STATES[old.fate]
            if known is not None and old.fate == Fate.WAITING:
                # Its collections here may have gone on, so it is assigned anew.
                state = Item.State.UNASSIGNED
            row = _row(feed, old, state, self.sender.name)
            if row is None:
                words = "Its stored text can’t be read. It counts as new if the feed still has it."
                lines.append(Line(ImportResult.REFUSED, "post", old.link or old.guid, words))
            else:
                rows[row.guid] = row
        Item.objects.bulk_create(rows.values(), batch_size=ROWS_A_BATCH)
        return rows, lines

    def _sent(self, newsletter: OldNewsletter) -> Iterable[str]:
        """Return the digests of posts that the newsletter got, or won’t get any more."""
        if not self.feed.knows_all:
            return sent_ids(self._sent_posts())
        live = {guid for one in newsletter.collections if not one.is_stale for guid in one.guids}
        return [
            digest(post.guid)
            for post in self.feed.posts
            if post.fate == Fate.SENT or (post.fate == Fate.WAITING and post.guid not in live)
        ]

    def _add_newsletter(self, old: OldNewsletter, feed: Feed, items: Mapping[str, Item]) -> Iterator[Line]:
        name, title, sender = unused_name(old.name), "", old.sender
        fields: dict[str, Any] = {"visibility": Subscribable.Visibility.UNLISTED, "time_zone": old.zone}
        if old.is_private:
            parsed = self.answers.answer.parsed if self.answers.answer else None
            title = one_line((parsed.title if parsed else "") or old.name)[:200]
            address = parseaddr(sender)[1]
            sender = formataddr((title, address)) if address else ""
            fields = {
                "visibility": Subscribable.Visibility.PRIVATE,
                "sign_up": Subscribable.SignUp.CLOSED,
                "title": title,
            }
        newsletter = define_subscribable(
            name=name,
            feeds=[feed],
            channel=old.channel,
            arrangement=old.arrangement,
            from_email=sender,
            reply_to=old.reply_to,
            params=dict(old.params),
            **fields,
            **({"n": old.n} if old.arrangement == FIXED else {}),
            **({"weekday": old.weekday} if old.arrangement == "weekly" else {}),
            **({"at": old.at} if old.at else {}),
        )
        key = newsletter_key(self.feed, old)
        self.origins.note(NEWSLETTER, key, newsletter.pk, now=self.now, finished=True)
        words = f"Imported from {self.sender.name}. Check the newsletter, then resume sending."
        pause_newsletter(subscribable_id=newsletter.pk, reason=words, now=self.now)
        if old.keeps_subjects:
            set_theme(subscribable=newsletter, subject="{upstream}")
        if name != old.name and not old.is_private:
            yield _renamed(old, newsletter)
        _note_links(newsletter, items.values())
        newsletter.counter = old.counter
        for collection in old.collections:
            if not collection.is_stale:
                _take_collection(newsletter, collection, items, self.now)
        if newsletter.schedule.has_periods:
            opened = [one.opened for one in old.collections if not one.is_stale]
            newsletter.issued_through = period_for(
                min(opened, default=self.now), newsletter.schedule, newsletter.zone
            ).start
        newsletter.save(update_fields=["counter", "issued_through"])

    def _take_people(self, old: OldNewsletter, *, is_new: bool) -> Iterator[Line]:
        """Add who came, confirm who confirmed, and end who left."""
        origin = self.origins.find(NEWSLETTER, newsletter_key(self.feed, old))
        newsletter = Subscribable.objects.filter(pk=origin.row).first() if origin else None
        if newsletter is None:
            yield Line(ImportResult.THERE, "newsletter", old.name, "It was deleted here.")
            return
        sender = self.sender
        owners, ours = self._owners(old, newsletter)
        waiting = newsletter.subscriptions.filter(status=Subscription.Status.UNCONFIRMED)
        unconfirmed = frozenset(waiting.values_list("pk", flat=True))
        confirming = [
            one for one in old.subscribers if one.is_confirmed and owners.get(_id(one)) in unconfirmed
        ]
        coming = [one for one in old.subscribers if _id(one) not in owners]
        new = replace(old, accounts=tuple(one for one in old.accounts if one.number not in owners))
        added, lines = self._take_subscribers(newsletter, [*confirming, *coming], known=len(confirming))
        if is_new or added or confirming or new.accounts:
            people = pluralize(added, "subscriber")
            if old.is_bridge:
                people = pluralize(len(new.accounts), "account")
            words = f"{people} added, {len(confirming)} confirmed."
            if is_new:
                words = f"{_pace(old)}, {people}. Sending is paused until you resume it."
            kind = "bridge" if old.is_bridge else "newsletter"
            yield Line(ImportResult.TAKEN, kind, old.name, words)
        yield from lines
        self._note_unasked(old, newsletter)
        yield from take_accounts(
            new, newsletter, self.answers.connections, place=sender.place, words=sender.agreed, now=self.now
        )
        yield from take_queues(old, newsletter, place=sender.place, adds=sender.keeps_queued, now=self.now)
        stayed = frozenset(self._owners(old, newsletter)[0].values())
        yield from end_gone(
            ours.exclude(pk__any_of=stayed),
            known=ours.filter(pk__any_of=stayed).count(),
            sender=sender.name,
            as_of=sender.as_of,
            now=self.now,
        )

    def _owners(
        self, old: OldNewsletter, newsletter: Subscribable
    ) -> tuple[Mapping[Any, int], "QuerySet[Subscription]"]:
        """Return subscriptions by numbers or addresses there, and all that came from there."""
        if not old.is_private:
            ours = newsletter.subscriptions.filter(upstream_id__range=numbers_of(self.sender.place))
            return owners_of(self.sender.numbers or (), self.sender.place), ours
        imported = Consent.objects.filter(act=Consent.Act.IMPORTED, words=self.sender.agreed)
        there = dict(newsletter.subscriptions.values_list("destination__core", "pk"))
        known = {
            _id(one): there[core] for one in old.subscribers if (core := email_core(one.address)) in there
        }
        ours = newsletter.subscriptions.filter(Exists(imported.filter(subscription=OuterRef("pk"))))
        return known, ours

    def _note_unasked(self, old: OldNewsletter, newsletter: Subscribable) -> None:
        """Remember whom it didn’t ask to confirm, and forget those whom it asked since."""
        place = self.sender.place
        unasked = {number_here(one.number, place): one.number for one in old.subscribers if one.is_unasked}
        noted = self.origins.all(UNASKED)
        ours = frozenset(newsletter.subscriptions.filter(pk__in=noted.values()).values_list("pk", flat=True))
        for key, pk in noted.items():
            if pk in ours and int(key) not in unasked:
                self.origins.finish(UNASKED, key, now=self.now)
        owners = owners_of(unasked.values(), place)
        for here, number in unasked.items():
            if number in owners and str(here) not in noted:
                self.origins.note(UNASKED, str(here), owners[number], now=self.now)

    def _take_subscribers(
        self, newsletter: Subscribable, subscribers: Sequence[OldSubscriber], *, known: int
    ) -> tuple[int, list[Line]]:
        """Return how many are new. `known`: how many of the subscribers aren’t."""
        if not subscribers:
            return 0, []
        report = import_subscribers(
            subscribable=newsletter,
            lines=_list(subscribers, self.sender.place),
            now=self.now,
            terms=Terms(words=self.sender.agreed),
        )
        lines = [
            Line(ImportResult.REFUSED, "subscriber", ", ".join(row.cells[:1]), row.reason)
            for row in report.refused
        ]
        if same := len(subscribers) - known - report.added - report.refused_count:
            words = (
                f"{pluralize(same, 'subscription')} had the address of another, such as in upper or lower"
                " case. They’re one here, and all their old links work."
            )
            lines.append(Line(ImportResult.CHANGED, "subscriber", str(newsletter), words))
        return report.added, lines


def _id(one: OldSubscriber) -> int | str:
    return one.number or one.address


def _row(feed: Feed, old: OldPost, state: str, sender: str) -> Item | None:
    """Return None if the content is needed and unreadable."""
    row = known_item(feed, old.guid, old, old.link, sender)
    row.stable_since, row.state = old.stable_since or old.at, state
    row.reason = old.reason or row.reason
    if old.fate in DONE:
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


def _list(subscribers: Sequence[OldSubscriber], place: int) -> Iterator[str]:
    """Yield CSV lines; doubled quotes are all that CSV needs within quotes."""
    yield '"email","name","status","added","upstream_id"\n'
    for one in subscribers:
        cells = (
            as_text(one.address),
            as_text(one.name),
            "confirmed" if one.is_confirmed else "unconfirmed",
            one.added.isoformat(),
            str(number_here(one.number, place)) if one.number else "",
        )
        yield ",".join('"{}"'.format(cell.replace('"', '""')) for cell in cells) + "\n"


def _pace(newsletter: OldNewsletter) -> str:
    if newsletter.arrangement == FIXED:
        return f"Every {newsletter.n} posts"
    pace = {"each": "Each post", "daily": "Daily", "weekly": "Weekly"}[newsletter.arrangement]
    return f"{pace} at {newsletter.at:%H:%M}" if newsletter.at else pace
