"""What a pass sends: each letter made once, and each recipient's own part of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError

from delivery.accounts.signing_keys import SigningKeys
from delivery.channels import channel
from delivery.dkim.keys import SigningKey
from delivery.engine.jobs import ClaimedDelivery, OutgoingMessage
from delivery.issues.own_code import recipient_params
from delivery.letter import Letter, Recipient
from delivery.letters.build import issue_letter, mail_letter
from delivery.models import Delivery, Issue
from subscriptions.hooks import Recipient as HookRecipient
from subscriptions.links import manage_url_for, unsubscribe_url_for
from subscriptions.models import Subscribable


@dataclass(frozen=True, slots=True)
class Prepared:
    """A letter, what makes messages of it, and the newsletter's own code that has values for each reader."""

    letter: Letter
    compose: Callable[[Recipient], Any]
    ask: "Ask | None" = None


Ask = Callable[[HookRecipient], Mapping[str, str]]


class LetterCache:
    """The letters of one pass, each made once. Bounded: a pass sends few issues at a time."""

    LIMIT = 20

    def __init__(self) -> None:
        # One that cannot be made is not tried for every recipient anew.
        self._issues: dict[int, Prepared | Exception] = {}
        self._keys = SigningKeys()

    def parcel(self, row: ClaimedDelivery, *, now: datetime) -> OutgoingMessage:
        """All that sending a delivery needs. Raises what rendering raises, and ValueError for a stored
        secret that cannot be read."""
        made = self._mail(row, now) if row.issue_id is None else self._issue(row, row.issue_id)
        return OutgoingMessage(made.letter, _asked(recipient_of(row), made.ask), made.compose)

    def _mail(self, row: ClaimedDelivery, now: datetime) -> Prepared:
        rows = Delivery.objects.select_related("destination", "subscription__subscribable")
        delivery = rows.get(pk=row.pk)
        newsletter = delivery.subscription.subscribable if delivery.subscription else None
        return self._signed(row, mail_letter(delivery, now=now), _code_of(newsletter))

    def _issue(self, row: ClaimedDelivery, issue_id: int) -> Prepared:
        if issue_id not in self._issues and len(self._issues) >= self.LIMIT:
            self._issues.clear()
        known = self._issues.get(issue_id) or _made(issue_id)
        if isinstance(known, Exception):
            self._issues[issue_id] = known
            raise known
        keys = self._keys_of(row, known.letter)
        if known.letter.signing_keys != keys or issue_id not in self._issues:
            known = self._issues[issue_id] = self._signed(row, known.letter, known.ask)
        return known

    def _signed(self, row: ClaimedDelivery, letter: Letter, ask: Ask | None) -> Prepared:
        """With the keys that are active now."""
        signed = replace(letter, signing_keys=self._keys_of(row, letter), has_own_code=ask is not None)
        return Prepared(signed, channel(row.lane.kind).composer(signed), ask)

    def _keys_of(self, row: ClaimedDelivery, letter: Letter) -> tuple[SigningKey, ...]:
        return self._keys.of(letter.from_email) if row.destination.kind == "email" else ()


def _made(issue_id: int) -> Prepared | Exception:
    issue = Issue.objects.select_related("subscribable").get(pk=issue_id)
    try:
        letter = issue_letter(issue)
        return Prepared(letter, lambda _: None, _code_of(issue.subscribable))
    except (DatabaseError, InterfaceError):
        raise
    except Exception as error:  # noqa: BLE001 - raised for each of its recipients
        return error


def _code_of(subscribable: Subscribable | None) -> Ask | None:
    return recipient_params(subscribable) if subscribable else None


def _asked(recipient: Recipient, ask: Ask | None) -> Recipient:
    """With the values that the newsletter's own code has for this reader. Raises HookError."""
    if ask is None:
        return recipient
    reader = HookRecipient(
        address=recipient.label,
        name=recipient.name,
        unsubscribe_url=recipient.unsubscribe_url,
        manage_url=recipient.manage_url,
    )
    return recipient._replace(params=ask(reader))


def recipient_of(row: ClaimedDelivery) -> Recipient:
    """One delivery's own part. Raises ValueError when a stored secret cannot be read."""
    reader, to = row.subscription, row.destination
    return Recipient(
        delivery_id=row.pk,
        core=to.core,
        label=to.label,
        name=reader.display_name if reader else "",
        config=to.config,
        secrets=to.secrets.open(),
        unsubscribe_url=unsubscribe_url_for(reader.pk, reader.token) if reader else "",
        manage_url=manage_url_for(reader.pk, reader.token) if reader else "",
    )
