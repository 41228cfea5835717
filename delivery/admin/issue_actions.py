"""Actions on issues. Any that reaches many people first shows how many."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget

from common.admin.html import list_link, paragraph, when
from common.admin.refusals import not_done
from common.clock import utcnow
from common.ports.panels import Action
from common.refused import Refused
from common.text import pluralize
from delivery.issues import progress
from delivery.issues.pause import (
    CLICK_BUDGET,
    PAUSED_BY_HAND,
    pause_newsletter,
    resume_newsletter,
    what_still_goes,
)
from delivery.models import Delivery, Issue
from subscriptions.models import Subscribable


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
