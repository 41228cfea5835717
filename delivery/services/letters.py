"""From rows to what a channel composes: the letter (shared) and the recipient (one delivery's own)."""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings

from common.secrets import opened
from delivery.channels.base import Letter, Recipient
from delivery.links import archive_url
from delivery.models import Delivery, Issue
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import render_mail
from delivery.services.facts import issue_facts
from delivery.services.samples import sample
from feeds.parsing.entry import Entry
from subscriptions.links import manage_url, unsubscribe_url
from subscriptions.models import Subscribable


class Letters:
    """The letters of one pass, each made once. Bounded: a pass sends few issues at a time."""

    LIMIT = 20

    def __init__(self) -> None:
        self._issues: dict[int, Letter] = {}

    def letter(self, row: Delivery, *, now: datetime) -> Letter:
        """The letter of a delivery. Raises what rendering raises."""
        if row.issue_id is None:
            return mail_letter(row, now=now)
        if row.issue_id not in self._issues:
            if len(self._issues) >= self.LIMIT:
                self._issues.clear()
            issue = Issue.objects.select_related("subscribable").get(pk=row.issue_id)
            self._issues[row.issue_id] = issue_letter(issue)
        return self._issues[row.issue_id]


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
    )


def mail_letter(row: Delivery, *, now: datetime) -> Letter:
    """A mail that is no issue: rendered for this one recipient."""
    if "subscribable" in row.context:
        return sample_letter(row, now=now)
    rendered = render_mail(row.template, row.context, language=row.language, params={})
    subscribable = row.subscription.subscribable if row.subscription else None
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
