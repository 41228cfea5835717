"""Writes what a batch of a list asks for: some statements, however many lines it has. Mails no one."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from common.db.bulk import find_rows, insert_rows, update_rows
from subscriptions.lists.plan import ImportPlan, Planned, bearers, plan, standings
from subscriptions.lists.reading import Terms, Wanted
from subscriptions.models import Consent, Destination, OldNumber, Subscribable, Subscription, Suppression
from subscriptions.models.subscription import random_token
from subscriptions.rules.list_rows import Change, Proof
from subscriptions.rules.origin import How
from subscriptions.subscribers.bulk import end
from subscriptions.subscribers.consent import LONGEST_WORDS

IMPORTED = "imported as suppressed"
CONFIRMED, UNSUBSCRIBED = Subscription.Status.CONFIRMED.value, Subscription.Status.UNSUBSCRIBED.value
CHANGED = (
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


def store(subscribable: Subscribable, lines: Sequence[Wanted], *, terms: Terms, now: datetime) -> ImportPlan:
    """Within the caller's transaction. Returns what was done."""
    known = standings(subscribable, (wanted.parsed.core for wanted in lines), lock=True)
    made = plan(lines, known, bearers(lines))
    _suppress(subscribable.channel, made, now)
    fresh = made.doing(Change.ADD)
    # A reader who signs up at this very moment is there already, and stays as they are.
    made.added -= len(fresh) - _add(subscribable, fresh, terms, now)
    _update(subscribable, made.doing(Change.UPDATE), terms, now)
    return made


def _suppress(kind: str, made: ImportPlan, now: datetime) -> None:
    cores = [
        core
        for core, one in made.planned.items()
        if one.then.suppressed and not one.standing.known.suppressed
    ]
    if cores:
        count = len(cores)
        columns = {"kind": [kind] * count, "core": cores, "reason": [IMPORTED] * count}
        insert_rows(Suppression, {**columns, "created_at": [now] * count})


def _add(subscribable: Subscribable, fresh: list[Planned], terms: Terms, now: datetime) -> int:
    if not fresh:
        return 0
    destinations = _destinations(subscribable.channel, fresh, now)
    tokens = [random_token() for _ in fresh]
    columns: dict[str, Sequence[Any]] = {
        "subscribable": [subscribable.pk] * len(fresh),
        "destination": destinations,
        "display_name": [one.then.name for one in fresh],
        "language": [one.then.language for one in fresh],
        "status": [one.then.status for one in fresh],
        "added_at": [one.added or now for one in fresh],
        "confirmed_at": [_confirmed_at(one, now) for one in fresh],
        "left_at": [one.left or now if one.then.status == UNSUBSCRIBED else None for one in fresh],
        "token": tokens,
        "upstream_id": [next(iter(one.then.upstream_ids), None) for one in fresh],
    }
    added = insert_rows(Subscription, columns)
    made = find_rows(
        Subscription, ["token", "id"], key="destination", values=destinations, subscribable=subscribable.pk
    )
    keys = {token: pk for _, token, pk in made}
    proven = [(keys[token], one) for token, one in zip(tokens, fresh, strict=True) if token in keys]
    _prove(subscribable, proven, terms, now)
    _number(proven)
    return added


def _confirmed_at(one: Planned, now: datetime) -> datetime | None:
    if one.then.status == CONFIRMED:
        return one.confirmed or one.added or now
    return one.confirmed if one.then.status == UNSUBSCRIBED else None


def _destinations(kind: str, fresh: list[Planned], now: datetime) -> list[int]:
    """Their keys, in the same order. A destination that is there is never changed."""
    missing = [one for one in fresh if one.standing.destination is None]
    found: dict[str, int] = {}
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
        found = dict(find_rows(Destination, ["id"], key="core", values=cores, kind=kind))
    return [one.standing.destination or found[one.wanted.parsed.core] for one in fresh]


def _update(subscribable: Subscribable, changed: list[Planned], terms: Terms, now: datetime) -> None:
    if not changed:
        return
    by_key = {one.standing.subscription: one for one in changed if one.standing.subscription}
    leaving = frozenset(key for key, one in by_key.items() if _moves_to(one, UNSUBSCRIBED))
    if leaving:
        end(leaving, now=now, tell=False)
    rows = list(Subscription.objects.filter(pk__any_of=frozenset(by_key)))
    for row in rows:
        _rewrite(row, by_key[row.pk], now)
    update_rows(rows, CHANGED)
    confirmed = [(key, one) for key, one in by_key.items() if _moves_to(one, CONFIRMED)]
    _prove(subscribable, confirmed, terms, now)
    _number(list(by_key.items()))


def _number(changed: Sequence[tuple[int, Planned]]) -> None:
    """Keeps the old numbers beyond the first."""
    new = [
        (key, number)
        for key, one in changed
        for number in one.then.upstream_ids[1:]
        if number not in one.standing.known.upstream_ids
    ]
    if new:
        keys, numbers = zip(*new, strict=True)
        insert_rows(OldNumber, {"subscription": keys, "number": numbers})


def _moves_to(one: Planned, status: str) -> bool:
    return one.then.status == status != one.standing.known.status


def _rewrite(row: Subscription, one: Planned, now: datetime) -> None:
    row.display_name, row.language = one.then.name, one.then.language
    row.upstream_id = next(iter(one.then.upstream_ids), None)
    if _moves_to(one, UNSUBSCRIBED):
        row.left_at = one.left or now
    elif _moves_to(one, CONFIRMED):
        row.status, row.confirmed_at = CONFIRMED, one.confirmed or now
        row.confirm_nonce = row.asked_name = ""


def _prove(
    subscribable: Subscribable, proven: Sequence[tuple[int, Planned]], terms: Terms, now: datetime
) -> None:
    """Keeps how they agreed: by the line's own words, else by those of the whole list."""
    kept = [(key, one.proof) for key, one in proven if one.proof or one.then.status != UNSUBSCRIBED]
    if kept:
        insert_rows(
            Consent,
            {
                "subscription": [key for key, _ in kept],
                "act": [Consent.Act.IMPORTED.value] * len(kept),
                "at": [proof.at or now for _, proof in kept],
                "how": [_how(proof) for _, proof in kept],
                "words": [_words(proof, terms) for _, proof in kept],
                "ip": [proof.ip if subscribable.keep_ip else None for _, proof in kept],
            },
        )


def _how(proof: Proof) -> str:
    return proof.how if 0 < len(proof.how) <= LONGEST_HOW else How.LIST.value


def _words(proof: Proof, terms: Terms) -> str:
    words = proof.words or terms.words
    if len(proof.how) > LONGEST_HOW:
        words = f"{proof.how}: {words}" if words else proof.how
    return words[:LONGEST_WORDS]
