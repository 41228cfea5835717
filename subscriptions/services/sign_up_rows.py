"""What a sign-up writes: the address, its subscriptions, the consent, and the wish for one mail."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from common.events import Event, Kind, emit
from common.kinds import ParsedDestination
from common.saving import save_new
from common.statements import rows_of
from subscriptions.models import Consent, Destination, Subscribable, Subscription, Suppression
from subscriptions.rules.origin import Origin
from subscriptions.rules.sign_up import Answer, Standing, answer, noted, remembered
from subscriptions.services.consenting import consent
from subscriptions.services.notifying import ask_to_confirm, renew_nonce, say_already

KNOWN = f"""
    SELECT EXISTS (SELECT 1 FROM {Suppression._meta.db_table} WHERE kind = %s AND core = %s), id, disabled_at
    FROM (SELECT 1 AS one) always LEFT JOIN {Destination._meta.db_table} ON kind = %s AND core = %s
"""  # noqa: S608
UNCONFIRMED = Subscription.Status.UNCONFIRMED


@dataclass(frozen=True, slots=True)
class Asked:
    """One sign-up: who asks for what, and how. The newsletters stand in the order of their keys."""

    subscribables: list[Subscribable]
    parsed: ParsedDestination
    name: str
    origin: Origin
    language: str
    now: datetime

    @property
    def kind(self) -> str:
        return self.subscribables[0].channel


def answer_all(asked: Asked) -> bool:
    """Writes the answers, within the caller's transaction. Returns whether there is a mail to send.

    Raises IntegrityError when the same address signs up elsewhere at this moment.
    """
    destination = _destination(asked)
    if destination is None:
        return False
    rows = _rows(asked, destination)
    waiting = [row for row in rows if _answer(row, asked) is Answer.CONFIRM]
    already = [row for row in rows if _answer(row, asked) is Answer.ALREADY]
    _note(waiting, already, asked)
    if waiting:
        ask_to_confirm(waiting, already=already, now=asked.now, language=asked.language)
    elif already:
        language = already[0].language or asked.language
        say_already(already, now=asked.now, language=language)
    return bool(waiting or already)


def _destination(asked: Asked) -> Destination | None:
    """What is there, else a new one, not saved yet; none where nothing may be sent.

    A sign-up never changes a Destination that is there: anyone can type any address.
    """
    parsed = asked.parsed
    is_blocked, pk = _known(asked.kind, parsed.core)
    if is_blocked:
        return None
    if pk is not None:
        return Destination.objects.get(pk=pk)
    return Destination(
        kind=asked.kind, core=parsed.core, label=parsed.label, config=parsed.config, added_at=asked.now
    )


def _known(kind: str, core: str) -> tuple[bool, int | None]:
    """Whether an address is suppressed or disabled, and its key. (Plain SQL: every sign-up asks.)"""
    ((is_suppressed, pk, is_disabled),) = rows_of(connection, KNOWN, [kind, core, kind, core])
    return bool(is_suppressed or is_disabled), pk


def _rows(asked: Asked, destination: Destination) -> list[Subscription]:
    """One for each newsletter: those that are there locked, the others not saved yet."""
    there: dict[int, Subscription] = {}
    if destination.pk:
        rows = Subscription.objects.filter(destination=destination, subscribable__in=asked.subscribables)
        locked = rows.select_for_update(no_key=True).order_by("pk")
        there = {row.subscribable_id: row for row in locked}
    made = [there.get(each.pk) or Subscription(added_at=asked.now) for each in asked.subscribables]
    for row, subscribable in zip(made, asked.subscribables, strict=True):
        row.subscribable, row.destination = subscribable, destination
    return made


def _answer(row: Subscription, asked: Asked) -> Answer:
    return answer(Standing(row.status), earlier=remembered(row.notices_at), now=asked.now)


def _note(waiting: Sequence[Subscription], already: Sequence[Subscription], asked: Asked) -> None:
    begun = [row for row in waiting if not row.pk or row.status != UNCONFIRMED]
    for row in waiting:
        row.status, row.asked_name = UNCONFIRMED, asked.name
        row.language = asked.language or row.language
        renew_nonce(row)
    _save([*waiting, *already], asked)
    act = Consent.Act.ASKED
    save_new([consent(row, act, asked.origin, at=asked.now) for row in waiting])
    emit(Event(Kind.CREATED, tuple(row.pk for row in begun), asked.now))


def _save(rows: Sequence[Subscription], asked: Asked) -> None:
    for row in rows:
        row.notices_at = noted(row.notices_at, asked.now)
    if rows and not rows[0].destination.pk:
        save_new([rows[0].destination])
    fresh = [row for row in rows if not row.pk]
    for row in fresh:
        row.destination = rows[0].destination
    save_new(fresh)
    for row in rows:
        if row not in fresh:
            row.save()
