"""Stores a batch in a fixed number of statements."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from common.db.bulk import find_rows, insert_rows, update_rows
from subscriptions.lists.plan import (
    ImportPlan,
    Planned,
    existing_subscribers,
    owners_of_upstream_ids,
    plan_import,
)
from subscriptions.lists.reading import Terms, Wanted
from subscriptions.models import Consent, Destination, OldNumber, Subscribable, Subscription, Suppression
from subscriptions.models.subscription import random_token
from subscriptions.rules.lists.rows import RowChange
from subscriptions.rules.origin import How
from subscriptions.subscribers.bulk import end_subscriptions
from subscriptions.subscribers.consent import LONGEST_WORDS
from subscriptions.subscribers.tags import give, tags_named

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
        [key, by_key[key].then.status, by_key[key].standing.known.status, *map(_iso, times)]
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


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


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
