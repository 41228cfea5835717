"""From rows to what a channel composes: the letter (shared) and the recipient (one delivery's own)."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.db import DatabaseError, InterfaceError

from common.secrets import opened
from delivery.channels.base import Letter, Recipient
from delivery.links import archive_url, issue_url
from delivery.models import Delivery, Issue
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import render_mail
from delivery.services.facts import issue_facts
from delivery.services.samples import sample
from delivery.services.signing_keys import SigningKeys
from feeds.parsing.entry import Entry
from subscriptions.links import manage_url, unsubscribe_url
from subscriptions.models import Subscribable


class Letters:
    """The letters of one pass, each made once. Bounded: a pass sends few issues at a time."""

    LIMIT = 20

    def __init__(self) -> None:
        # One that cannot be made is not tried for every recipient anew.
        self._issues: dict[int, Letter | Exception] = {}
        self._keys = SigningKeys()

    def letter(self, row: Delivery, *, now: datetime) -> Letter:
        """The letter of a delivery, with the keys that sign it. Raises what rendering raises."""
        letter = self._unsigned(row, now=now)
        keys = self._keys.of(letter.from_email) if row.destination.kind == "email" else ()
        return replace(letter, signing_keys=keys) if keys else letter

    def _unsigned(self, row: Delivery, *, now: datetime) -> Letter:
        if row.issue_id is None:
            return mail_letter(row, now=now)
        if row.issue_id not in self._issues:
            if len(self._issues) >= self.LIMIT:
                self._issues.clear()
            self._issues[row.issue_id] = _made(row.issue_id)
        letter = self._issues[row.issue_id]
        if isinstance(letter, Exception):
            raise letter
        return letter


def _made(issue_id: int) -> Letter | Exception:
    issue = Issue.objects.select_related("subscribable").get(pk=issue_id)
    try:
        return issue_letter(issue)
    except (DatabaseError, InterfaceError):
        raise
    except Exception as error:  # noqa: BLE001 - raised for each of its recipients
        return error


def issue_letter(issue: Issue) -> Letter:
    """The form letter of an issue, with its posts as they stood."""
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
    )


def mail_letter(row: Delivery, *, now: datetime) -> Letter:
    """A mail that is no issue: rendered for this one recipient."""
    if "subscribable" in row.context:
        return sample_letter(row, now=now)
    subscribable = row.subscription.subscribable if row.subscription else None
    # The newsletter's own: its accent, its postal address.
    params = subscribable.params if subscribable else {}
    rendered = render_mail(row.template, row.context, language=row.language, params=params)
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
    """A test: the newsletter that the context names, with the newest posts there are."""
    subscribable = Subscribable.objects.get(pk=row.context["subscribable"])
    contents = sample(subscribable, now=now)
    rendered = render_issue(issue_facts(contents, now=now))
    return newsletter_letter(
        subscribable,
        kind=row.kind,
        token=f"test-{row.key}",
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        holes=rendered.holes,
        entries=[post.entry for post in contents.posts],
    )


def recipient(row: Delivery) -> Recipient:
    """One delivery's own part. Raises ValueError when a stored secret cannot be read."""
    subscription = row.subscription
    return Recipient(
        delivery_id=row.pk,
        core=row.destination.core,
        label=row.destination.label,
        name=subscription.display_name if subscription else "",
        config=row.destination.config,
        secrets=opened(row.destination.secrets),
        unsubscribe_url=unsubscribe_url(subscription) if subscription else "",
        manage_url=manage_url(subscription) if subscription else "",
    )
