from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from common.clock import utcnow
from common.ports.panels import Action
from common.text import pluralize
from feeds.adding.edit import alter_feed, alter_feeds, start_over
from feeds.admin.tag import AddTags, RemoveTags, add_tags, remove_tags
from feeds.admin_words import tell
from feeds.models import Feed
from feeds.models.feed import A_MONTH
from feeds.polling.poll import poll_feed, request_poll

READ_AT_ONCE = 5
# A message's size is limited.
UNDONE_AT_ONCE = 200


def read_now(request: HttpRequest, keys: list[int]) -> str:
    for key in keys[:READ_AT_ONCE]:
        tell(request, poll_feed(feed_id=key, now=utcnow()))
    if later := request_poll(feed_ids=keys[READ_AT_ONCE:], now=utcnow()):
        messages.info(request, f"{pluralize(later, 'more feed')} will be read in a moment.")
    return ""


def start_again(request: HttpRequest, keys: list[int]) -> str:
    failing = list(Feed.objects.in_health("failing").filter(pk__in=keys).values_list("pk", flat=True))
    if not failing:
        return "None of them is failing."
    for key in failing[:READ_AT_ONCE]:
        tell(request, poll_feed(feed_id=key, now=utcnow()))
    if later := start_over(feeds=failing[READ_AT_ONCE:], now=utcnow()):
        messages.info(request, f"{pluralize(later, 'more failing feed')} will be read in a moment.")
    return ""


def pause(request: HttpRequest, keys: list[int]) -> str:
    paused = _set_status(keys, Feed.Status.PAUSED)
    said = f"{pluralize(len(paused), 'feed')} paused. Nothing is read or settles until you resume them."
    return undoable(request, said, "resume", paused)


def resume(request: HttpRequest, keys: list[int]) -> str:
    resumed = _set_status(keys, Feed.Status.ACTIVE)
    request_poll(feed_ids=resumed, now=utcnow())
    return undoable(request, f"{pluralize(len(resumed), 'feed')} resumed.", "pause", resumed)


def _set_status(keys: list[int], status: str) -> list[int]:
    """Return the feeds that had another status."""
    feeds = list(Feed.objects.filter(pk__in=keys, dropping=False).exclude(status=status))
    for feed in feeds:
        alter_feed(feed=feed, status=status)
    return [feed.pk for feed in feeds]


def undoable(request: HttpRequest, said: str, action: str, keys: Sequence[int]) -> SafeString | str:
    if not keys or len(keys) > UNDONE_AT_ONCE:
        return said
    chosen = format_html_join(
        "", '<input type="hidden" name="_selected_action" value="{}">', ((key,) for key in keys)
    )
    return format_html(
        '{} <form method="post" action="{}" class="fl-undo"><input type="hidden" name="csrfmiddlewaretoken"'
        ' value="{}"><input type="hidden" name="index" value="0">{}'
        '<button name="action" value="{}">Undo</button></form>',
        said,
        reverse("admin:feeds_feed_changelist"),
        get_token(request),
        chosen,
        action,
    )


def _minutes(label: str) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        required=False,
        validators=[MinValueValidator(0), MaxValueValidator(A_MONTH)],
        help_text="Leave empty to keep each feed’s setting.",
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 0}),
    )


class PaceForm(forms.Form):
    pace = forms.ChoiceField(
        label="Read them",
        required=False,
        choices=[("", "keep each feed’s setting"), *Feed.Pace.choices],
        widget=UnfoldAdminSelectWidget(),
    )
    recheck_every_minutes = _minutes("Read every (minutes)")
    ceiling_minutes = _minutes("At least every (minutes)")

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = f"How should {pluralize(len(keys), 'feed')} be read?"

    def clean(self) -> dict[str, Any]:
        data = {name: value for name, value in (super().clean() or {}).items() if value not in (None, "")}
        if not data and not self.errors:
            self.add_error("pace", "Change at least one of these.")
        return data


def change_pace(request: HttpRequest, keys: list[int], **changes: Any) -> str:
    return f"{pluralize(alter_feeds(feeds=keys, **changes), 'feed')} changed."


def _never(feed: Feed) -> bool:
    """A feed's page has a form for this."""
    return False


READ_NOW = Action("read_now", "Read now", read_now, fits=lambda feed: feed.status == "active")
ACTIONS = (
    Action("start_over", "Retry failing feeds", start_again, fits=_never),
    Action("pause", "Pause", pause, fits=lambda feed: feed.status == "active"),
    Action("resume", "Resume", resume, fits=lambda feed: feed.status != "active" and not feed.dropping),
    Action("add_tags", "Add tags", add_tags, form=AddTags, fits=_never),
    Action("remove_tags", "Remove tags", remove_tags, form=RemoveTags, fits=_never),
    Action("change_pace", "Change reading frequency", change_pace, form=PaceForm, fits=_never),
)
