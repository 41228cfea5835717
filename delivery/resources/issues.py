"""Issues: what can be done with them, by commands, the API and the admin.

The sending of newsletters: what can be done with it, by commands, the API and the admin.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.utils import timezone

from common.admin.html import when
from common.cli.commands import shown_fields
from common.ports import channels
from common.ports.panels import CannotAct
from common.resources import ADMIN, API, COMMAND, Argument, Done, Filter, Resource, verb
from common.text import pluralize
from delivery.issues import progress
from delivery.issues.audience import recipients_of
from delivery.issues.contents import with_words
from delivery.issues.pause import (
    PAUSED_BY_HAND,
    cancel_issue,
    failed_domains,
    failed_of,
    going_words,
    hide_issue,
    pause_issue,
    pause_newsletter,
    resume_issue,
    resume_newsletter,
    retry_failed,
    still_going,
    what_still_goes,
)
from delivery.issues.publish import (
    approve_issue,
    discard_issue,
    late_subscribers,
    release_at,
    restore_issue,
    send_late,
    stop_release,
)
from delivery.letters.samples import NothingToShow, sample
from delivery.letters.trial import send_test_issue
from delivery.models import Delivery, Issue
from delivery.rules.progress import STATES, arrived, total, waiting
from subscriptions.models import Subscribable
from subscriptions.resources.newsletters import Newsletters, of_newsletter
from subscriptions.subscribers.sign_up import is_by_code

MANY_NEWSLETTERS = 10_000
REST_FOLLOWS = " This is a large issue, so the rest follows soon."
MANY = 10_000
COUNTED_AT_ONCE = 200


def issue_row(issue: Issue, counts: Counter[str]) -> dict[str, Any]:
    """Needs the newsletter selected."""
    return {
        "id": issue.pk,
        "newsletter": issue.subscribable.name,
        "title": issue.title,
        "state": progress.issue_state(issue, counts),
        "created_at": issue.created_at,
        "release_at": issue.release_at if issue.published_at is None else None,
        "published_at": issue.published_at,
        "recipients": total(counts),
        "arrived": arrived(counts),
        "waiting": waiting(counts),
        "held": counts["held"],
        "failed": counts["failed"],
        "cancelled": counts["cancelled"],
    }


def domain_in_words(figures: progress.DomainFigures) -> str:
    named = asdict(figures)
    return ", ".join(f"{named[name]:,} {name}" for name in named if name != "domain" and named[name])


def worded(rows: Any, text: str) -> Any:
    """Find issues as the archive does; other lists look for a part of a text."""
    return rows.filter(with_words(text))


def is_to_come(issue: Issue) -> bool:
    return issue.published_at is None and issue.cancelled_at is None


def is_draft(issue: Issue) -> bool:
    return is_to_come(issue) and not issue.awaits_reader


def can_test_issue(issue: Issue) -> bool:
    return is_to_come(issue) and issue.subscribable.channel == "email"


def is_out(issue: Issue) -> bool:
    return issue.published_at is not None and issue.cancelled_at is None


def may_have_page(issue: Issue) -> bool:
    """Return whether the issue is on the newsletter's pages, or was."""
    is_public = issue.subscribable.visibility != Subscribable.Visibility.PRIVATE
    return issue.published_at is not None and is_public and not issue.is_for_some


def can_go_again(issue: Issue) -> bool:
    return is_out(issue) and issue.pruned_at is None


def has_rest(issue: Issue) -> bool:
    counts = progress.counts(issue)
    return is_out(issue) and bool(waiting(counts) + counts["held"])


def asks_to_approve(issues: Sequence[Issue]) -> list[str]:
    return [
        f"“{issue}” will be sent to {pluralize(recipients_of(issue).count(), 'subscriber')} at once."
        for issue in issues
    ]


def asks_to_release(issues: Sequence[Issue]) -> list[str]:
    count = sum(recipients_of(issue).count() for issue in issues)
    return [f"It will be sent then, to {pluralize(count, 'subscriber')} as of now."]


def asks_to_discard(issues: Sequence[Issue]) -> list[str]:
    return [f"“{issue}” won’t be sent, and its posts won’t be in later issues." for issue in issues]


def asks_to_cancel(issues: Sequence[Issue]) -> list[str]:
    counts = progress.counts_of(issue.pk for issue in issues)
    rest = {pk: waiting(each) + each["held"] for pk, each in counts.items()}
    return [
        f"The remaining {pluralize(rest[issue.pk], 'email')} of “{issue}” won’t be sent. "
        "Emails already being handed over will still be sent. You can’t undo this."
        for issue in issues
    ]


def asks_to_retry(issues: Sequence[Issue]) -> Done:
    found = [failed_of(issue.pk) for issue in issues]
    can, cannot = sum(each.retryable for each in found), sum(each.skipped for each in found)
    said = f"{pluralize(can, 'failed email')} can be tried again."
    if cannot:
        said += f" {cannot:,} can’t, because they must not be emailed or are no longer subscribed."
    return Done(said, {"failed": can + cannot, "skipped": cannot, "queued": 0})


def asks_to_send_late(issues: Sequence[Issue]) -> Done:
    counts = {issue: late_subscribers(issue).count() for issue in issues}
    said = (
        f"“{issue}” will be sent to {pluralize(count, 'subscriber')} who confirmed after it was sent."
        for issue, count in counts.items()
    )
    return Done(" ".join(said), {"late": sum(counts.values()), "queued": 0})


def zone_of(issues: Sequence[Issue]) -> ZoneInfo:
    """Return their newsletters' time zone; the site's if they are in several."""
    zones = {issue.subscribable.zone for issue in issues}
    return zones.pop() if len(zones) == 1 else ZoneInfo(timezone.get_current_timezone_name())


def scheduled_for(issues: Sequence[Issue]) -> datetime | None:
    return next((issue.release_at for issue in issues), None)


def domains_to_retry(issues: Sequence[Issue]) -> list[tuple[str, str]]:
    domains = failed_domains(issues[0].pk) if len(issues) == 1 else []
    named = [(domain, f"only {domain}: {count:,} failed") for domain, count in domains if domain]
    return [("", "all of them"), *named]


class Issues(Resource[Issue]):
    noun = "issue"
    list_help = "List issues: drafts, those being sent, and sent ones."
    empty = "There are no such issues."
    filters = (
        of_newsletter("issues"),
        Filter("state", "Only issues in this state.", narrow=progress.in_state, choices=STATES),
        Filter("search", "Words of the title and posts, or their beginnings; all must fit.", narrow=worded),
    )

    def rows(self) -> "QuerySet[Issue]":
        """Issues with their newsletters, without their letters."""
        return Issue.objects.select_related("subscribable").defer("html", "text", "placeholders")

    def shown(self, row: Issue) -> Mapping[str, Any]:
        return issue_row(row, progress.counts(row))

    def listed(self, rows: Iterable[Issue]) -> Iterator[Mapping[str, Any]]:
        left = iter(rows)
        while chunk := list(islice(left, COUNTED_AT_ONCE)):
            counts = progress.counts_of(row.pk for row in chunk)
            yield from (issue_row(row, counts[row.pk]) for row in chunk)

    def changed(self, row: Issue) -> None:
        progress.forget(row.pk)

    @verb("Show", on=(COMMAND,))
    def show(self, issue: Issue, *, now: datetime) -> Done:
        """Show an issue: how many got it, how many did not, and how fast it is sent."""
        counts, newsletter = progress.counts(issue), issue.subscribable
        facts = {
            **issue_row(issue, counts),
            **shown_fields(issue, "subject period_start period_end paused_at paused_reason cancelled_at"),
            "newsletter_paused": newsletter.sending_paused_reason if newsletter.sending_paused_at else None,
            **{state: counts[state] for state in Delivery.State.values},
            "bounced": sum(progress.bounced(issue).values()),
            "per_minute": progress.per_minute(issue, now=now),
            "late_subscribers": late_subscribers(issue).count(),
        }
        domains = progress.domain_figures(issue)
        trouble = {f"at {each.domain}": domain_in_words(each) for each in domains if each.trouble}
        return Done({**facts, **trouble}, {**facts, "domains": [asdict(each) for each in domains]})

    @verb("Approve and send", fits=is_draft, asks=asks_to_approve)
    def approve(
        self,
        issue: Issue,
        *,
        at: Annotated[datetime | None, Argument("Send at this time, not now.", on=(COMMAND, API))] = None,
        now: datetime,
    ) -> str:
        """Send a draft, now or at a time."""
        if at is not None:
            return self.release(issue, at=at, now=now)
        queued = approve_issue(issue_id=issue.pk, now=now)
        if Issue.objects.filter(pk=issue.pk, published_at=None).exists():
            return "Approved. If it’s still the newest, it’s sent when the first subscriber confirms."
        return f"Sending to {pluralize(queued, 'subscriber')}."

    @verb("Send at …", on=(ADMIN,), fits=is_draft, asks=asks_to_release)
    def release(
        self,
        issue: Issue,
        *,
        at: Annotated[datetime, Argument("", label="Send at", initial=scheduled_for, zone=zone_of)],
        now: datetime,
    ) -> str:
        release_at(issue_id=issue.pk, at=at, now=now)
        return f"Scheduled for {when(at, zone=issue.subscribable.zone)}. Until then you can stop it."

    @verb(
        "Wait for my approval",
        on=(ADMIN,),
        fits=lambda issue: is_draft(issue) and issue.release_at is not None,
    )
    def hold(self, issue: Issue) -> str:
        stop_release(issue_id=issue.pk)
        return "Not scheduled any more. It waits for your approval."

    @verb("Send me a test", on=(ADMIN,), fits=can_test_issue, permission="draft")
    def send_test(self, issue: Issue, *, to: str, now: datetime) -> str:
        send_test_issue(subscribable=issue.subscribable, issue=issue.pk, to=to, now=now)
        return f"We’ve sent a test to {to}."

    @verb("Discard", on=(COMMAND, ADMIN), fits=is_to_come, asks=asks_to_discard, is_harmful=True)
    def discard(
        self,
        issue: Issue,
        *,
        undo: Annotated[
            bool, Argument("Let a discarded one wait for approval again.", on=(COMMAND,))
        ] = False,
        now: datetime,
    ) -> str:
        """Discard an issue that waits for approval. Its posts stay issued."""
        if undo:
            return self.restore(issue)
        discard_issue(issue_id=issue.pk, now=now)
        return "Discarded. It won’t be sent."

    @verb(
        "Restore",
        on=(ADMIN,),
        fits=lambda issue: issue.published_at is None and bool(issue.cancelled_at) and not issue.pruned_at,
    )
    def restore(self, issue: Issue) -> str:
        restore_issue(issue_id=issue.pk)
        return "It waits for your approval again."

    @verb("Pause", fits=lambda issue: issue.paused_at is None and has_rest(issue))
    def pause(self, issue: Issue, *, now: datetime) -> str:
        """Pause an issue. Deliveries that have not begun wait."""
        pause_issue(issue_id=issue.pk, now=now)
        return f"Paused. {what_still_goes(Issue.objects.filter(pk=issue.pk))}"

    @verb("Resume", fits=lambda issue: is_out(issue) and issue.paused_at is not None)
    def resume(self, issue: Issue, *, now: datetime, budget: timedelta | None) -> str:
        """Resume a paused issue. Its held deliveries are sent."""
        queued = resume_issue(issue_id=issue.pk, now=now, budget=budget)
        return f"Resumed. {pluralize(queued, 'email')} queued so far.{REST_FOLLOWS if queued > MANY else ''}"

    @verb(
        "Retry failed",
        command="retry_failed",
        fits=lambda issue: can_go_again(issue) and bool(progress.counts(issue)["failed"]),
        asks=asks_to_retry,
        numbers={
            "queued": "How many were queued again by this request.",
            "left": "How many are left for the next: ask again.",
            "skipped": "Suppressed, disabled, or no longer subscribed.",
            "failed": "How many had failed.",
        },
    )
    def retry_failed(
        self,
        issue: Issue,
        *,
        domain: Annotated[
            str,
            Argument("Only deliveries to addresses of this domain.", label="Which", choices=domains_to_retry),
        ] = "",
        now: datetime,
        budget: timedelta | None,
    ) -> Done:
        """Try failed deliveries of an issue again, except to suppressed or former subscribers."""
        domain = domain.lower()
        before = failed_of(issue.pk, domain)
        queued = retry_failed(issue_id=issue.pk, domain=domain, now=now, budget=budget)
        left = failed_of(issue.pk, domain)
        said = f"{pluralize(queued, 'email')} queued again."
        if left.skipped:
            said += f" {left.skipped:,} skipped: suppressed, disabled, or no longer subscribed."
        if left.retryable:
            said += f" {left.retryable:,} are left. Retry once more."
        failed = before.retryable + before.skipped
        return Done(
            said, {"failed": failed, "skipped": left.skipped, "queued": queued, "left": left.retryable}
        )

    @verb(
        "Send to late subscribers",
        command="send_late",
        on=(COMMAND, ADMIN),
        fits=lambda issue: can_go_again(issue) and late_subscribers(issue).exists(),
        asks=asks_to_send_late,
    )
    def send_late(self, issue: Issue, *, now: datetime) -> Done:
        """Send an issue to subscribers who confirmed after it was published, each once."""
        queued = send_late(issue_id=issue.pk, now=now)
        return Done(f"Sending to {pluralize(queued, 'late subscriber')}.", {"late": queued, "queued": queued})

    @verb("Hide its page", fits=lambda issue: may_have_page(issue) and not issue.is_hidden, is_rare=True)
    def hide(self, issue: Issue, *, now: datetime) -> str:
        """Take an issue off the newsletter’s pages and feeds. Emails that were sent don’t change."""
        hide_issue(issue, now=now)
        return "Its page is hidden. Links to it say that there is no such page."

    @verb("Show its page", fits=lambda issue: may_have_page(issue) and issue.is_hidden)
    def unhide(self, issue: Issue) -> str:
        """Show a hidden issue on the newsletter’s pages and feeds again."""
        Issue.objects.filter(pk=issue.pk).update(is_hidden=False)
        return "Its page is in the archive again."

    @verb("Cancel the rest", fits=has_rest, asks=asks_to_cancel, is_harmful=True)
    def cancel(self, issue: Issue, *, now: datetime, budget: timedelta | None) -> str:
        """Cancel the rest of an issue. Deliveries that have begun finish; a draft is discarded."""
        if issue.published_at is None:
            return self.discard(issue, now=now)
        stopped = cancel_issue(issue_id=issue.pk, now=now, budget=budget)
        rest = REST_FOLLOWS if stopped > MANY else ""
        left = what_still_goes(Issue.objects.filter(pk=issue.pk))
        return f"{pluralize(stopped, 'email')} cancelled so far.{rest} {left}"


issues = Issues()


def asks_to_pause(newsletters: Sequence[Subscribable]) -> list[str]:
    return [
        "Its emails wait until you resume it. Emails already being handed over will still be sent. "
        "New posts are still collected, and confirmations are still sent."
    ]


def can_test_newsletter(newsletter: Subscribable) -> bool:
    """Return whether it sends mail, and has no next issue, which has this button itself."""
    is_mail = channels.get(newsletter.channel).public_sign_up and not is_by_code(newsletter)
    return is_mail and not newsletter.assignables.exists()


class SentNewsletters(Newsletters):
    noun = "newsletter"

    def rows(self) -> "QuerySet[Subscribable]":
        return Subscribable.objects.all()

    def shown(self, row: Subscribable) -> Mapping[str, Any]:
        return {"name": row.name, "paused": row.sending_paused_at is not None}

    @verb(
        "Pause sending",
        fits=lambda newsletter: newsletter.sending_paused_at is None,
        asks=asks_to_pause,
        is_rare=True,
        permission="pause",
    )
    def pause(
        self,
        newsletter: Subscribable,
        *,
        reason: Annotated[
            str, Argument("Shown to your team, such as: wrong sender, waiting for DNS.", longest=2000)
        ] = "",
        now: datetime,
    ) -> Done:
        """Pause all sending of a newsletter. It still collects posts; its issues wait."""
        paused = pause_newsletter(subscribable_id=newsletter.pk, reason=reason or PAUSED_BY_HAND, now=now)
        count = still_going(issues=Issue.objects.filter(subscribable=newsletter))
        said = f"“{newsletter}” {'is paused' if paused else 'was paused already'}. {going_words(count)}"
        return Done(said, {"name": newsletter.name, "paused": True, "changed": paused, "still_going": count})

    @verb(
        "Resume sending", fits=lambda newsletter: newsletter.sending_paused_at is not None, permission="pause"
    )
    def resume(self, newsletter: Subscribable, *, now: datetime, budget: timedelta | None) -> Done:
        """Resume a paused newsletter. Issues that are paused themselves stay paused."""
        queued = resume_newsletter(subscribable_id=newsletter.pk, now=now, budget=budget)
        rest = " The rest follows soon." if queued > MANY_NEWSLETTERS else ""
        said = f"“{newsletter}” is resumed. {pluralize(queued, 'email')} queued so far.{rest}"
        return Done(said, {"name": newsletter.name, "paused": False, "queued": queued})

    # A test is a mail.
    @verb("Send me a test", on=(ADMIN,), fits=can_test_newsletter, most=10)
    def send_test(self, newsletter: Subscribable, *, to: str, now: datetime) -> str:
        try:
            sample(newsletter, now=now)
        except NothingToShow as error:
            raise CannotAct(f"{newsletter}: {error}") from error
        send_test_issue(subscribable=newsletter, to=to, now=now)
        return f"We’ve sent a test to {to}."


newsletters = SentNewsletters()
