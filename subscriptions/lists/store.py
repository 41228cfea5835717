"""Stores a batch in a fixed number of statements."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from common.db.bulk import find_rows, insert_rows, update_rows
from subscriptions.lists.reading import RefusedRow, Terms, Wanted
from subscriptions.models import (
    Consent,
    Destination,
    OldNumber,
    Subscribable,
    SubscriberTag,
    Subscription,
    Suppression,
)
from subscriptions.models.subscription import random_token
from subscriptions.privacy.erase import erased_among
from subscriptions.rules.lists.rows import (
    NO_PROOF,
    KnownSubscriber,
    ListRow,
    Proof,
    RowChange,
    UnusableLine,
    after,
    change,
)
from subscriptions.rules.origin import How
from subscriptions.rules.tags import MOST_TAGS, tag_key
from subscriptions.subscribers.bulk import end_subscriptions
from subscriptions.subscribers.consent import LONGEST_WORDS
from subscriptions.subscribers.tags import give, tags_named, tags_of

IMPORTED_AS_SUPPRESSED = "imported as suppressed"
CONFIRMED, UNSUBSCRIBED = Subscription.Status.CONFIRMED.value, Subscription.Status.UNSUBSCRIBED.value
REWRITTEN_COLUMNS = (
    "display_name",
    "language",
    "status",
    "confirmed_at",
    "left_at",
    "confirm_nonce",
    "asked_name",
    "upstream_id",
)
LONGEST_HOW = Consent._meta.get_field("how").max_length or 10
NOBODY = KnownSubscriber()


@dataclass(frozen=True, slots=True)
class ExistingSubscriber:
    known: KnownSubscriber = NOBODY
    destination: int | None = None
    subscription: int | None = None


@dataclass(slots=True)
class Planned:
    wanted: Wanted
    standing: ExistingSubscriber
    then: KnownSubscriber
    added: datetime | None = None
    confirmed: datetime | None = None
    left: datetime | None = None
    proof: Proof = NO_PROOF
    # Names by key.
    tags: dict[str, str] = field(default_factory=dict)

    def take(self, row: ListRow, then: KnownSubscriber) -> None:
        self.then = then
        self.added = self.added or row.added or row.confirmed
        self.confirmed = row.confirmed or self.confirmed
        self.left = row.left or self.left
        self.proof = row.proof or self.proof
        for tag in row.tags:
            self.tags.setdefault(tag_key(tag), tag)

    @property
    def change(self) -> RowChange:
        return change(self.standing.known, self.then)


@dataclass(slots=True)
class ImportPlan:
    """Changes by core, and counts of lines."""

    planned: dict[str, Planned] = field(default_factory=dict)
    refused: list[RefusedRow] = field(default_factory=list)
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    # People who got the newsletter, and now don't.
    ending: int = 0
    # For ListChange.
    changes: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def count(self, done: RowChange) -> None:
        self.added += done is RowChange.ADD
        self.updated += done is RowChange.UPDATE
        self.unchanged += done is RowChange.NOTHING

    def doing(self, done: RowChange) -> list[Planned]:
        return [one for one in self.planned.values() if one.change is done]


def plan_import(
    lines: Sequence[Wanted], existing: Mapping[str, ExistingSubscriber], owners: Mapping[int, int]
) -> ImportPlan:
    """Plan each line, based on the lines before it. `owners`: subscriptions by upstream number."""
    made, given = ImportPlan(), dict[int, str]()
    tags = set[str]()
    if any(wanted.row.tags for wanted in lines):
        tags.update(SubscriberTag.objects.order_by().values_list("key", flat=True))
    for wanted in lines:
        core = wanted.parsed.core
        one = made.planned.get(core)
        standing = one.standing if one else existing.get(core, ExistingSubscriber())
        before = one.then if one else standing.known
        try:
            then = after(wanted.row, before)
            new_tags = then.tags - tags
            if new_tags and len(tags) + len(new_tags) > MOST_TAGS:
                raise UnusableLine(f"there would be more than {MOST_TAGS:,} tags; is this a column of tags?")
        except UnusableLine as error:
            made.refused.append(RefusedRow(wanted.line, str(error), tuple(wanted.cells), error.kind))
            continue
        if then.upstream_ids != before.upstream_ids:
            # A number stays with its subscription. A free one goes to the first address with it.
            own = standing.subscription
            free = (
                number
                for number in then.upstream_ids
                if owners.get(number, own) == own and given.setdefault(number, core) == core
            )
            then = replace(then, upstream_ids=tuple(free))
        tags |= new_tags
        made.count(change(before, then))
        made.ending += standing.known.outcome == before.outcome == "gets" != then.outcome
        if one is None:
            one = made.planned[core] = Planned(wanted, standing, then)
        one.take(wanted.row, then)
    return made


def owners_of_upstream_ids(lines: Iterable[Wanted]) -> dict[int, int]:
    """Return subscriptions of any newsletter, by upstream number."""
    numbers = {number for wanted in lines for number in wanted.row.upstream_ids}
    if not numbers:
        return {}
    first = find_rows(Subscription, ["id"], key="upstream_id", values=numbers)
    return dict([*first, *find_rows(OldNumber, ["subscription"], key="number", values=numbers)])


def existing_subscribers(
    subscribable: Subscribable, lines: Sequence[Wanted], *, lock: bool = False
) -> dict[str, ExistingSubscriber]:
    """Return known addresses, with tags if any line has some, in a fixed number of queries.

    With `lock`, subscriptions are locked in the order of keys.
    """
    wanted, kind = {each.parsed.core for each in lines}, subscribable.channel
    suppressed = {row[0] for row in find_rows(Suppression, ["id"], key="core", values=wanted, kind=kind)}
    destinations = dict(find_rows(Destination, ["id"], key="core", values=wanted, kind=kind))
    columns = ("id", "status", "display_name", "language", "upstream_id")
    found: Iterable[tuple[Any, ...]] = find_rows(
        Subscription, columns, key="destination", values=destinations.values(), subscribable=subscribable.pk
    )
    if lock and found:
        rows = Subscription.objects.filter(pk__any_of=frozenset(row[1] for row in found)).order_by("pk")
        locked = rows.select_for_update(of=("self",), no_key=True)
        found = locked.values_list("destination_id", *columns)
    subscriptions = {row[0]: row[1:] for row in found}
    further = further_upstream_ids(row[0] for row in subscriptions.values())
    tags = tags_of(destinations.values()) if any(each.row.tags for each in lines) else {}
    erased = erased_among(kind, wanted)
    existing: dict[str, ExistingSubscriber] = {}
    for core in suppressed | destinations.keys() | erased:
        destination, is_suppressed = destinations.get(core), core in suppressed
        own_tags = frozenset(map(tag_key, tags.get(destination or 0, ())))
        if destination is None or destination not in subscriptions:
            known = KnownSubscriber(suppressed=is_suppressed, tags=own_tags, is_erased=core in erased)
            existing[core] = ExistingSubscriber(known, destination)
            continue
        pk, status, name, language, upstream_id = subscriptions[destination]
        upstream_ids = (*([upstream_id] if upstream_id else []), *further.get(pk, ()))
        known = KnownSubscriber(status, name, language, is_suppressed, upstream_ids, own_tags)
        existing[core] = ExistingSubscriber(known, destination, pk)
    return existing


def further_upstream_ids(subscriptions: Iterable[int]) -> dict[int, list[int]]:
    numbers: dict[int, list[int]] = {}
    rows = OldNumber.objects.filter(subscription__pk__any_of=frozenset(subscriptions)).order_by("pk")
    for subscription, number in rows.values_list("subscription_id", "number"):
        numbers.setdefault(subscription, []).append(number)
    return numbers


def store_batch(
    subscribable: Subscribable, lines: Sequence[Wanted], *, terms: Terms, now: datetime
) -> ImportPlan:
    """Runs in the caller's transaction."""
    existing = existing_subscribers(subscribable, lines, lock=True)
    made = plan_import(lines, existing, owners_of_upstream_ids(lines))
    newly_suppressed = [
        core
        for core, one in made.planned.items()
        if one.then.suppressed and not one.standing.known.suppressed
    ]
    if newly_suppressed:
        count = len(newly_suppressed)
        columns: dict[str, Sequence[Any]] = {
            "kind": [subscribable.channel] * count,
            "core": newly_suppressed,
            "reason": [IMPORTED_AS_SUPPRESSED] * count,
            "created_at": [now] * count,
        }
        insert_rows(Suppression, columns)
        made.changes["suppressed"] = newly_suppressed
    fresh, changed = made.doing(RowChange.ADD), made.doing(RowChange.UPDATE)
    if fresh:
        # Readers who signed up just now are unchanged.
        made.added -= len(fresh) - _add_subscriptions(subscribable, fresh, terms, now, made.changes)
    if changed:
        _change_subscriptions(subscribable, changed, terms, now, made.changes)
    return made


def _add_subscriptions(
    subscribable: Subscribable,
    fresh: list[Planned],
    terms: Terms,
    now: datetime,
    changes: dict[str, list[Any]],
) -> int:
    destinations = _destination_keys(subscribable.channel, fresh, now)
    tokens = [random_token() for _ in fresh]
    # Defaults to the subscription's time.
    confirmed_at = [
        (one.confirmed or one.added or now)
        if one.then.status == CONFIRMED
        else (one.confirmed if one.then.status == UNSUBSCRIBED else None)
        for one in fresh
    ]
    columns: dict[str, Sequence[Any]] = {
        "subscribable": [subscribable.pk] * len(fresh),
        "destination": destinations,
        "display_name": [one.then.name for one in fresh],
        "language": [one.then.language for one in fresh],
        "status": [one.then.status for one in fresh],
        "added_at": [one.added or now for one in fresh],
        "confirmed_at": confirmed_at,
        # Defaults to the time of joining, so that nobody counts as leaving today.
        "left_at": [
            (one.left or one.confirmed or one.added or now) if one.then.status == UNSUBSCRIBED else None
            for one in fresh
        ],
        "token": tokens,
        "upstream_id": [next(iter(one.then.upstream_ids), None) for one in fresh],
    }
    added = insert_rows(Subscription, columns)
    made = find_rows(
        Subscription, ["token", "id"], key="destination", values=destinations, subscribable=subscribable.pk
    )
    keys = {token: pk for _, token, pk in made}
    stored = [(keys[token], one) for token, one in zip(tokens, fresh, strict=True) if token in keys]
    changes["added"] = [[key, one.then.status] for key, one in stored]
    _keep_consents(subscribable, stored, terms, now)
    _keep_further_upstream_ids(stored)
    changes["tagged"] += _keep_tags(list(zip(destinations, fresh, strict=True)))
    return added


def _destination_keys(kind: str, fresh: list[Planned], now: datetime) -> list[int]:
    missing = [one for one in fresh if one.standing.destination is None]
    keys: dict[str, int] = {}
    if missing:
        parsed = [one.wanted.parsed for one in missing]
        insert_rows(
            Destination,
            {
                "kind": [kind] * len(missing),
                "core": [each.core for each in parsed],
                "label": [each.label for each in parsed],
                "config": [each.config for each in parsed],
                "secrets": [""] * len(missing),
                "added_at": [one.added or now for one in missing],
            },
        )
        cores = (each.core for each in parsed)
        keys = dict(find_rows(Destination, ["id"], key="core", values=cores, kind=kind))
    return [one.standing.destination or keys[one.wanted.parsed.core] for one in fresh]


def _change_subscriptions(
    subscribable: Subscribable,
    changed: list[Planned],
    terms: Terms,
    now: datetime,
    changes: dict[str, list[Any]],
) -> None:
    by_key = {one.standing.subscription: one for one in changed if one.standing.subscription}
    moving = frozenset(key for key, one in by_key.items() if one.then.status != one.standing.known.status)
    before = Subscription.objects.filter(pk__any_of=moving).values_list("pk", "confirmed_at", "left_at")
    changes["changed"] = [
        [
            key,
            by_key[key].then.status,
            by_key[key].standing.known.status,
            *(time and time.isoformat() for time in times),
        ]
        for key, *times in before
    ]
    leaving = frozenset(key for key, one in by_key.items() if _moves_to(one, UNSUBSCRIBED))
    if leaving:
        end_subscriptions(leaving, now=now, tell=False)
    rows = list(Subscription.objects.filter(pk__any_of=frozenset(by_key)))
    for row in rows:
        one = by_key[row.pk]
        row.display_name, row.language = one.then.name, one.then.language
        row.upstream_id = next(iter(one.then.upstream_ids), None)
        if _moves_to(one, UNSUBSCRIBED):
            row.left_at = one.left or now
        elif _moves_to(one, CONFIRMED):
            row.status, row.confirmed_at = CONFIRMED, one.confirmed or now
            row.confirm_nonce = row.asked_name = ""
    update_rows(rows, REWRITTEN_COLUMNS)
    confirmed = [(key, one) for key, one in by_key.items() if _moves_to(one, CONFIRMED)]
    _keep_consents(subscribable, confirmed, terms, now)
    _keep_further_upstream_ids(list(by_key.items()))
    tagged = [(one.standing.destination, one) for one in changed if one.standing.destination]
    changes["tagged"] += _keep_tags(tagged)


def _keep_tags(changed: Sequence[tuple[int, Planned]]) -> list[list[int]]:
    """Return the new pairs of addresses and tags."""
    new = [
        (destination, key)
        for destination, one in changed
        for key in one.tags
        if key not in one.standing.known.tags
    ]
    if new:
        names = {key: name for _, one in reversed(changed) for key, name in one.tags.items()}
        keys = {tag.key: tag.pk for tag in tags_named(names[key] for key in {key for _, key in new})}
        give([(destination, keys[key]) for destination, key in new])
        return [[destination, keys[key]] for destination, key in new]
    return []


def _moves_to(one: Planned, status: str) -> bool:
    return one.then.status == status != one.standing.known.status


def _keep_further_upstream_ids(changed: Sequence[tuple[int, Planned]]) -> None:
    """The subscription itself has the first number."""
    new = [
        (key, number)
        for key, one in changed
        for number in one.then.upstream_ids[1:]
        if number not in one.standing.known.upstream_ids
    ]
    if new:
        keys, numbers = zip(*new, strict=True)
        insert_rows(OldNumber, {"subscription": keys, "number": numbers})


def _keep_consents(
    subscribable: Subscribable, stored: Sequence[tuple[int, Planned]], terms: Terms, now: datetime
) -> None:
    """The line's proof replaces the list's."""
    kept = [(key, one.proof) for key, one in stored if one.proof or one.then.status != UNSUBSCRIBED]
    words = []
    for _, proof in kept:
        text = proof.words or terms.words
        # Text too long for one field goes into the other.
        if len(proof.how) > LONGEST_HOW:
            text = f"{proof.how}: {text}" if text else proof.how
        words.append(text[:LONGEST_WORDS])
    if kept:
        insert_rows(
            Consent,
            {
                "subscription": [key for key, _ in kept],
                "act": [Consent.Act.IMPORTED.value] * len(kept),
                "at": [proof.at or now for _, proof in kept],
                "how": [
                    proof.how if 0 < len(proof.how) <= LONGEST_HOW else How.LIST.value for _, proof in kept
                ],
                "words": words,
                "ip": [proof.ip if subscribable.keep_ip else None for _, proof in kept],
            },
        )
