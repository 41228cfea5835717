"""Actions on issues. Any that reaches many people first shows how many."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, cast
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import INPUT_CLASSES, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.admin.html import list_link, paragraph, when
from common.admin.refusals import NO_ADDRESS, not_done
from common.clock import utcnow
from common.ports.panels import Action, CannotAct
from common.refused import Refused
from common.text import pluralize
from delivery.admin.issue_panels import count_recipients
from delivery.issues import progress
from delivery.issues.pause import (
    CLICK_BUDGET,
    PAUSED_BY_HAND,
    cancel_issue,
    failed_domains,
    failed_of,
    pause_issue,
    pause_newsletter,
    resume_issue,
    resume_newsletter,
    retry_failed,
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
from delivery.letters.trial import send_test_of_issue
from delivery.models import Delivery, Issue
from delivery.rules.progress import waiting
from subscriptions.models import Subscribable
from subscriptions.rules.words import zone_words


def sending_paused(subscribable: Subscribable) -> SafeString | str:
    """Return since when, why, and what waits; "" if not paused."""
    if subscribable.sending_paused_at is None:
        return ""
    since = when(subscribable.sending_paused_at, zone=subscribable.zone)
    said = f"Since {since}: {subscribable.sending_paused_reason}"
    waits = list_link(
        Delivery,
        "See the held emails",
        issue__subscribable__id__exact=subscribable.pk,
        state__exact=Delivery.State.HELD,
    )
    return format_html("{}{}", paragraph(said), paragraph(waits))


class PauseForm(forms.Form):
    reason = forms.CharField(
        required=False,
        max_length=500,
        widget=UnfoldAdminTextInputWidget(),
        help_text="Shown to your team. For example: wrong sender, waiting for the new DNS record.",
    )

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = (
            "Its emails wait until you resume it. Emails already being handed over will still be sent. "
            "New posts are still collected, and confirmations are still sent."
        )


def pause_sending(request: HttpRequest, keys: list[int], reason: str) -> str:
    changed = sum(
        pause_newsletter(subscribable_id=pk, reason=reason or PAUSED_BY_HAND, now=utcnow()) for pk in keys
    )
    if not changed:
        return ""
    left = what_still_goes(Issue.objects.filter(subscribable__in=keys))
    return f"{pluralize(changed, 'newsletter')} paused. {left}"


def resume_sending(request: HttpRequest, keys: list[int]) -> str:
    queued = sum(resume_newsletter(subscribable_id=pk, now=utcnow(), budget=CLICK_BUDGET) for pk in keys)
    rest = " The rest follows soon." if queued > 10_000 else ""
    return f"Resumed. {pluralize(queued, 'email')} queued so far.{rest}"


PAUSE_ACTIONS = (
    Action(
        "pause_sending",
        "Pause sending",
        pause_sending,
        form=PauseForm,
        fits=lambda row: row.sending_paused_at is None,
        is_rare=True,
    ),
    Action(
        "resume_sending", "Resume sending", resume_sending, fits=lambda row: row.sending_paused_at is not None
    ),
)


ISSUES_TESTED_AT_ONCE = 10
REST_FOLLOWS = " This is a large issue, so the rest follows soon."


def of(keys: list[int]) -> list[Issue]:
    rows = (
        Issue.objects.filter(pk__in=keys).select_related("subscribable").defer("html", "text", "placeholders")
    )
    return list(rows.order_by("pk"))


def for_each_issue(act: Callable[..., str]) -> Callable[..., str]:
    """Apply an action to each issue; report errors per issue."""

    @wraps(act)
    def run(request: HttpRequest, keys: list[int], **given: Any) -> str:
        said = []
        for pk in keys:
            try:
                said.append(act(pk, **given))
            except Refused as error:
                messages.error(request, not_done(error))
            progress.forget(pk)
        return " ".join(said)

    return run


class ApproveForm(forms.Form):
    """Confirmation that shows the number of recipients."""

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        lines = (
            f"“{issue}” will be sent to {pluralize(count_recipients(issue), 'subscriber')} at once."
            for issue in of(keys)
        )
        self.intro = " ".join(lines)


@for_each_issue
def approve(pk: int) -> str:
    queued = approve_issue(issue_id=pk, now=utcnow())
    if Issue.objects.filter(pk=pk, published_at=None).exists():
        return "Approved. It will be sent when the first subscriber confirms."
    return f"Sending to {pluralize(queued, 'subscriber')}."


class MomentWidget(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(attrs={"class": " ".join(INPUT_CLASSES)}, format="%Y-%m-%dT%H:%M")


class MomentField(forms.DateTimeField):
    """Time in `zone`."""

    widget = MomentWidget
    zone: ZoneInfo

    def prepare_value(self, value: Any) -> Any:
        with timezone.override(self.zone):
            return super().prepare_value(value)

    def to_python(self, value: Any) -> datetime | None:
        with timezone.override(self.zone):
            return super().to_python(value)


class ReleaseForm(forms.Form):
    at = MomentField(label="Send at")

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        issues = of(keys)
        numbers = sum(count_recipients(issue) for issue in issues)
        self.intro = f"It will be sent then, to {pluralize(numbers, 'subscriber')} as of now."
        zones = {issue.subscribable.zone for issue in issues}
        # Newsletters in several zones use the site's.
        zone = zones.pop() if len(zones) == 1 else ZoneInfo(timezone.get_current_timezone_name())
        at = cast(MomentField, self.fields["at"])
        at.zone, at.help_text = zone, f"In {zone_words(zone)} ({zone})."
        at.initial = next((issue.release_at for issue in issues), None)

    def clean_at(self) -> datetime:
        at: datetime = self.cleaned_data["at"]
        if at <= utcnow():
            raise forms.ValidationError("That time has passed. Give a later one.")
        return at


@for_each_issue
def release_drafts(pk: int, at: datetime) -> str:
    release_at(issue_id=pk, at=at, now=utcnow())
    zone = Subscribable.objects.get(issues=pk).zone
    return f"Scheduled for {when(at, zone=zone)}. Until then you can stop it."


@for_each_issue
def stop_releases(pk: int) -> str:
    stop_release(issue_id=pk)
    return "Not scheduled any more. It waits for your approval."


def asked_to_discard(keys: list[int]) -> list[str]:
    return [f"“{issue}” won’t be sent, and its posts won’t be in later issues." for issue in of(keys)]


@for_each_issue
def discard(pk: int) -> str:
    discard_issue(issue_id=pk, now=utcnow())
    return "Discarded. It won’t be sent."


@for_each_issue
def restore(pk: int) -> str:
    restore_issue(issue_id=pk)
    return "It waits for your approval again."


def send_test_issues(request: HttpRequest, keys: list[int]) -> str:
    address = getattr(request.user, "email", "")
    if not address:
        raise CannotAct(NO_ADDRESS)
    for issue in of(keys[:ISSUES_TESTED_AT_ONCE]):
        send_test_of_issue(issue=issue, to=address, now=utcnow())
    return f"We’ve sent a test to {address}."


@for_each_issue
def pause_issues(pk: int) -> str:
    pause_issue(issue_id=pk, now=utcnow())
    return f"Paused. {what_still_goes(Issue.objects.filter(pk=pk))}"


@for_each_issue
def resume_issues(pk: int) -> str:
    queued = resume_issue(issue_id=pk, now=utcnow(), budget=CLICK_BUDGET)
    return f"Resumed. {pluralize(queued, 'email')} queued so far.{REST_FOLLOWS if queued > 10_000 else ''}"


def asked_to_cancel(keys: list[int]) -> list[str]:
    counts = progress.counts_of(keys)
    rest = {pk: waiting(each_) + each_["held"] for pk, each_ in counts.items()}
    return [
        f"The remaining {pluralize(rest[issue.pk], 'email')} of “{issue}” won’t be sent. "
        "Emails already being handed over will still be sent. You can’t undo this."
        for issue in of(keys)
    ]


@for_each_issue
def cancel(pk: int) -> str:
    stopped = cancel_issue(issue_id=pk, now=utcnow(), budget=CLICK_BUDGET)
    rest = REST_FOLLOWS if stopped > 10_000 else ""
    left = what_still_goes(Issue.objects.filter(pk=pk))
    return f"{pluralize(stopped, 'email')} cancelled so far.{rest} {left}"


class RetryForm(forms.Form):
    domain = forms.ChoiceField(label="Which", required=False, widget=UnfoldAdminSelectWidget())

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        found = [failed_of(pk) for pk in keys]
        can, cannot = sum(each.retryable for each in found), sum(each.skipped for each in found)
        self.intro = f"{pluralize(can, 'failed email')} can be tried again."
        if cannot:
            self.intro += f" {cannot:,} can’t, because they must not be emailed or are no longer subscribed."
        domains = failed_domains(keys[0]) if len(keys) == 1 else []
        named = [(domain, f"only {domain}: {count:,} failed") for domain, count in domains if domain]
        self.fields["domain"].choices = [("", "all of them"), *named]  # type: ignore[attr-defined]


@for_each_issue
def retry_issues(pk: int, domain: str) -> str:
    queued = retry_failed(issue_id=pk, domain=domain, now=utcnow(), budget=CLICK_BUDGET * 5)
    left = failed_of(pk, domain)
    more = f" {left.retryable:,} are left. Retry once more." if left.retryable else ""
    skipped = f" {left.skipped:,} skipped." if left.skipped else ""
    return f"{pluralize(queued, 'email')} queued again.{skipped}{more}"


class LateForm(forms.Form):
    """Confirmation that shows the number of recipients."""

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        lines = (
            f"“{issue}” will be sent to {pluralize(late_subscribers(issue).count(), 'subscriber')} "
            "who confirmed after it was sent."
            for issue in of(keys)
        )
        self.intro = " ".join(lines)


@for_each_issue
def send_to_late(pk: int) -> str:
    return f"Sending to {pluralize(send_late(issue_id=pk, now=utcnow()), 'late subscriber')}."


def is_to_come(issue: Issue) -> bool:
    return issue.published_at is None and issue.cancelled_at is None


def is_draft(issue: Issue) -> bool:
    return is_to_come(issue) and not issue.awaits_reader


def can_be_tested(issue: Issue) -> bool:
    return is_to_come(issue) and issue.subscribable.channel == "email"


def is_out(issue: Issue) -> bool:
    return issue.published_at is not None and issue.cancelled_at is None


def can_go_again(issue: Issue) -> bool:
    return is_out(issue) and issue.pruned_at is None


def has_rest(issue: Issue) -> bool:
    counts = progress.counts(issue)
    return is_out(issue) and bool(waiting(counts) + counts["held"])


ACTIONS = (
    Action("approve", "Approve and send", approve, form=ApproveForm, fits=is_draft),
    Action("release", "Send at …", release_drafts, form=ReleaseForm, fits=is_draft),
    Action(
        "hold",
        "Wait for my approval",
        stop_releases,
        fits=lambda row: is_draft(row) and row.release_at is not None,
    ),
    Action("send_test", "Send me a test", send_test_issues, fits=can_be_tested),
    Action("discard", "Discard", discard, asked_to_discard, fits=is_to_come),
    Action(
        "restore",
        "Restore",
        restore,
        fits=lambda row: row.published_at is None and row.cancelled_at is not None and row.pruned_at is None,
    ),
    Action("pause", "Pause", pause_issues, fits=lambda row: row.paused_at is None and has_rest(row)),
    Action("resume", "Resume", resume_issues, fits=lambda row: is_out(row) and row.paused_at is not None),
    Action(
        "retry_failed",
        "Retry failed",
        retry_issues,
        form=RetryForm,
        fits=lambda row: can_go_again(row) and bool(progress.counts(row)["failed"]),
    ),
    Action(
        "send_late",
        "Send to late subscribers",
        send_to_late,
        form=LateForm,
        fits=lambda row: can_go_again(row) and late_subscribers(row).exists(),
    ),
    Action("cancel", "Cancel the rest", cancel, asked_to_cancel, fits=has_rest),
)
