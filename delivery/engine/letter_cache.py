"""Letters of a pass, each made once, and each recipient's part."""

from dataclasses import replace
from datetime import datetime

from django.db import DatabaseError, InterfaceError

from channels import channel
from channels.letter import Recipient
from delivery.accounts.dkim_keys import SigningKeys
from delivery.bridges.connect import why_unconnected
from delivery.bridges.post_changes import SentPost, change_of
from delivery.engine.send_task import ClaimedDelivery, PreparedLetter
from delivery.issues.own_code import recipient_params
from delivery.letters.build import issue_letter, mail_letter
from delivery.models import Delivery, Issue
from subscriptions.hooks import Recipient as HookRecipient
from subscriptions.links import manage_url_for, unsubscribe_url_for


class Unconnected(Exception):
    """The destination has no credentials yet, as after an import without secrets."""


class LetterCache:
    """Bounded cache: a pass sends few issues at a time."""

    LIMIT = 20

    def __init__(self) -> None:
        # By issue and channel, as a newsletter may also go to devices. Failures are kept, too, so that they
        # are not repeated for every recipient.
        self._issues: dict[tuple[int, str], PreparedLetter | Exception] = {}
        self._keys = SigningKeys()

    def prepare(self, row: ClaimedDelivery, *, now: datetime) -> tuple[PreparedLetter, Recipient]:
        """Raise what rendering raises.

        Also raises HookError of the newsletter's own code, ValueError for an unreadable stored secret, and
        Unconnected.
        """
        if row.issue_id is None:
            rows = Delivery.objects.select_related("destination", "subscription__subscribable")
            mail = rows.get(pk=row.pk)
            newsletter = mail.subscription.subscribable if mail.subscription else None
            ask = recipient_params(newsletter) if newsletter else None
            made = PreparedLetter(mail_letter(mail, now=now), ask)
        else:
            made = self._issue(row.issue_id, row.lane.kind)
        keys = self._keys.of(made.letter.from_email) if row.destination.kind == "email" else ()
        if made.compose is None or made.letter.signing_keys != keys:
            letter = replace(made.letter, signing_keys=keys, has_own_code=made.ask is not None)
            made = PreparedLetter(letter, made.ask, channel(row.lane.kind).composer(letter))
            if row.issue_id is not None:
                self._issues[row.issue_id, row.lane.kind] = made
        recipient = recipient_of(row)
        if made.ask is not None:
            reader = HookRecipient(
                address=recipient.label,
                name=recipient.name,
                unsubscribe_url=recipient.unsubscribe_url,
                manage_url=recipient.manage_url,
            )
            recipient = recipient._replace(params=made.ask(reader))
        return made, recipient

    def prepare_change(self, row: ClaimedDelivery) -> tuple[PreparedLetter, Recipient, SentPost]:
        """Raise NotNeeded, LetterError, Unconnected, or ValueError for an unreadable secret."""
        change, recipient = change_of(row.pk), recipient_of(row)
        change.refuse_same(recipient, kind=row.lane.kind)
        composer = channel(row.lane.kind).composer(change.letter)
        return PreparedLetter(change.letter, None, composer), recipient, change.sent

    def _issue(self, issue_id: int, kind: str) -> PreparedLetter:
        """Return the cached letter or make it. Raises what making it raised."""
        known = self._issues.get((issue_id, kind))
        if known is None:
            if len(self._issues) >= self.LIMIT:
                self._issues.clear()
            issue = Issue.objects.select_related("subscribable").get(pk=issue_id)
            try:
                known = PreparedLetter(issue_letter(issue), recipient_params(issue.subscribable))
            except (DatabaseError, InterfaceError):
                raise
            except Exception as error:  # noqa: BLE001 - raised for each of its recipients
                known = error
            self._issues[issue_id, kind] = known
        if isinstance(known, Exception):
            raise known
        return known


def recipient_of(row: ClaimedDelivery) -> Recipient:
    """Raise Unconnected, and ValueError for an unreadable stored secret."""
    reader, to = row.subscription, row.destination
    if why := why_unconnected(to.kind, to.label, to.secrets):
        raise Unconnected(why)
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
