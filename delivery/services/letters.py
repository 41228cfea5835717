"""From rows to what a channel composes: the letter (shared) and the recipient (one delivery's own)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError

from delivery.channels import channel
from delivery.channels.base import Letter, Recipient
from delivery.dkim.keys import Key
from delivery.links import archive_url, issue_url
from delivery.models import Delivery, Issue
from delivery.rendering.rendered import LetterError
from delivery.services.claimed import Row
from delivery.services.hooks import recipient_params
from delivery.services.mails import newsletter_mail
from delivery.services.parcels import Parcel
from delivery.services.samples import sample_of
from delivery.services.signing_keys import SigningKeys
from feeds.parsing.entry import Entry
from subscriptions.hooks import Recipient as HookRecipient
from subscriptions.links import manage_url_for, page_url, unsubscribe_url_for
from subscriptions.models import Subscribable


@dataclass(frozen=True, slots=True)
class Prepared:
    """A letter, what makes messages of it, and the newsletter's own code that has values for each reader."""

    letter: Letter
    compose: Callable[[Recipient], Any]
    ask: "Ask | None" = None


Ask = Callable[[HookRecipient], Mapping[str, str]]


class Letters:
    """The letters of one pass, each made once. Bounded: a pass sends few issues at a time."""

    LIMIT = 20

    def __init__(self) -> None:
        # One that cannot be made is not tried for every recipient anew.
        self._issues: dict[int, Prepared | Exception] = {}
        self._keys = SigningKeys()

    def parcel(self, row: Row, *, now: datetime) -> Parcel:
        """All that sending a delivery needs. Raises what rendering raises, and ValueError for a stored
        secret that cannot be read."""
        made = self._mail(row, now) if row.issue_id is None else self._issue(row, row.issue_id)
        return Parcel(made.letter, _asked(recipient_of(row), made.ask), made.compose)

    def _mail(self, row: Row, now: datetime) -> Prepared:
        rows = Delivery.objects.select_related("destination", "subscription__subscribable")
        delivery = rows.get(pk=row.pk)
        newsletter = delivery.subscription.subscribable if delivery.subscription else None
        return self._signed(row, mail_letter(delivery, now=now), _code_of(newsletter))

    def _issue(self, row: Row, issue_id: int) -> Prepared:
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

    def _signed(self, row: Row, letter: Letter, ask: Ask | None) -> Prepared:
        """With the keys that are active now."""
        signed = replace(letter, signing_keys=self._keys_of(row, letter), has_own_code=ask is not None)
        return Prepared(signed, channel(row.lane.kind).composer(signed), ask)

    def _keys_of(self, row: Row, letter: Letter) -> tuple[Key, ...]:
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


def issue_letter(issue: Issue) -> Letter:
    """The form letter of an issue, with its posts as they stood. Raises LetterError when it is forgotten."""
    if issue.pruned_at is not None:
        raise LetterError("The letter of this issue was forgotten after a while: it cannot be sent any more.")
    entries = (Entry.from_json(row.entry) for row in issue.issue_items.order_by("position"))
    return newsletter_letter(
        issue.subscribable,
        kind=Delivery.Kind.ISSUE,
        token=issue.token,
        title=issue.title,
        subject=issue.subject,
        html=issue.html,
        text=issue.text,
        holes=issue.holes,
        entries=entries,
        web_url=issue_url(issue),
    )


def newsletter_letter(
    subscribable: Subscribable,
    *,
    kind: str,
    token: str,
    title: str,
    subject: str,
    html: str,
    text: str,
    holes: dict[str, str],
    entries: Iterable[Entry],
    web_url: str = "",
) -> Letter:
    """A rendered letter of a newsletter, whether it is an issue or a sample of one."""
    return Letter(
        kind=kind,
        newsletter=subscribable.name,
        newsletter_title=str(subscribable),
        title=title,
        subject=subject,
        html=html,
        text=text,
        token=token,
        holes=holes,
        entries=tuple(entries),
        from_email=subscribable.from_email or settings.DEFAULT_FROM_EMAIL,
        reply_to=subscribable.reply_to,
        params=subscribable.params,
        options=subscribable.options,
        archive_url=archive_url(subscribable),
        language=subscribable.language,
        is_digest=subscribable.arrangement != Subscribable.Arrangement.EACH,
        web_url=web_url,
        page_url=page_url(subscribable),
    )


def mail_letter(row: Delivery, *, now: datetime) -> Letter:
    """A mail that is no issue: rendered for this one recipient."""
    if "subscribable" in row.context:
        return sample_letter(row, now=now)
    subscribable = row.subscription.subscribable if row.subscription else None
    # The newsletter's own: its accent, its postal address.
    params = subscribable.params if subscribable else {}
    rendered = newsletter_mail(subscribable, row.template, row.context, language=row.language)
    return Letter(
        kind=row.kind,
        newsletter=subscribable.name if subscribable else "",
        newsletter_title=str(subscribable) if subscribable else "",
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        token=f"{row.kind}-{row.key}"[:100],
        holes=rendered.holes,
        from_email=(subscribable and subscribable.from_email) or settings.DEFAULT_FROM_EMAIL,
        reply_to=subscribable.reply_to if subscribable else "",
        params=params,
        language=row.language,
    )


def sample_letter(row: Delivery, *, now: datetime) -> Letter:
    """A test: of the newsletter that the context names, with the newest posts there are."""
    subscribable = Subscribable.objects.get(pk=row.context["subscribable"])
    shown = sample_of(subscribable, row.context, now=now)
    rendered = shown.rendered
    return newsletter_letter(
        subscribable,
        kind=row.kind,
        token=f"test-{row.key}",
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        holes=rendered.holes,
        entries=shown.entries,
    )


def recipient_of(row: Row) -> Recipient:
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
