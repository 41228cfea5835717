"""Forms of a broadcast: newsletter, audience and time.

Panels about broadcasts on a newsletter's page.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest

from common.access import visible_to
from common.admin.html import add_url, when
from common.admin.model_admin import StyledForm
from common.admin.refusals import add_refusal
from common.admin.resources import MomentWidget
from common.clock import utcnow, zone_words
from common.parts import Button, Facts, Link, Part, Table
from common.refused import Refused
from common.text import one_line, pluralize
from delivery.accounts.accounts import account_words, sender_of
from delivery.issues.audience import (
    audience_of,
    audience_words,
    chosen_audience,
    count_readers,
    recipients_of,
)
from delivery.issues.broadcasts import MOST_MARKDOWN, LetterText, unsent_letters
from delivery.models import Broadcast
from delivery.rendering.subjects import LONGEST_SUBJECT
from delivery.rules.audience import UnknownAudience, is_for_some
from subscriptions.branding.brands import kept_picture
from subscriptions.forms.pictures import PictureField
from subscriptions.models import Subscribable, SubscriberTag
from subscriptions.rules.completion import clock_words, moment_words
from subscriptions.rules.schedule import first_instant, wall

LETTER_STATE_WORDS = {
    "draft": "draft",
    "scheduled": "scheduled",
    "trouble": "not sent, needs you",
    "sent": "sent",
    "series": "in a series",
}
LETTERS_SHOWN = 10


class BeginForm(StyledForm, forms.Form):
    """Preselects the newsletter if there is only one."""

    subscribable = forms.ModelChoiceField(
        Subscribable.objects.none(), label="Newsletter", help_text="The email is sent to its subscribers."
    )
    subject = forms.CharField(
        required=False, max_length=LONGEST_SUBJECT, help_text="You can change it until the email is sent."
    )

    def __init__(self, *args: Any, newsletters: "QuerySet[Subscribable]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.newsletters = newsletters.filter(channel="email")
        self.fields["subscribable"].queryset = self.newsletters  # type: ignore[attr-defined]
        if len(only := list(self.newsletters.values_list("pk", flat=True)[:2])) == 1:
            self.initial["subscribable"] = only[0]


class PictureForm(forms.Form):
    picture = PictureField(required=True, error_messages={"required": "Choose a picture first."})
    shows = forms.CharField(required=False, max_length=300)

    @property
    def markdown(self) -> str:
        """Store the picture and return its Markdown."""
        name = kept_picture(self.cleaned_data["picture"])
        shows = re.sub(r"([\\\[\]])", r"\\\1", one_line(self.cleaned_data["shows"]))
        return f"![{shows}](/pictures/{name})"


class AudienceForm(StyledForm, forms.Form):
    any_of = forms.MultipleChoiceField(
        label="Only subscribers with one of these tags",
        required=False,
        help_text="Choose none to include everybody.",
    )
    none_of = forms.MultipleChoiceField(label="Not subscribers with one of these tags", required=False)
    others = forms.MultipleChoiceField(
        label="Also subscribers of these newsletters",
        required=False,
        help_text="People on several lists get one copy.",
    )

    got = forms.MultipleChoiceField(
        label="Only people who got",
        required=False,
        help_text="If it was corrected while it was paused, only people who got the earlier text.",
    )

    def __init__(self, letter: Broadcast, *, newsletters: "QuerySet[Subscribable]", **kwargs: Any) -> None:
        """`newsletters`: the user's."""
        super().__init__(**kwargs)
        self.newsletter = letter.subscribable
        self.had: Mapping[int, str] = {}
        # Unreadable if from a newer release or if it names deleted rows; then it is chosen again.
        with suppress(UnknownAudience):
            chosen = audience_of(letter)
            tags = dict(SubscriberTag.objects.filter(pk__in=chosen.tags).values_list("pk", "name"))
            for part in ("any_of", "none_of"):
                self.initial[part] = [tags[key] for key in getattr(chosen, part) if key in tags]
            others = Subscribable.objects.filter(pk__in=chosen.others)
            self.initial["others"] = list(others.values_list("name", flat=True))
            self.had = chosen.got
            self.initial["got"] = [str(key) for key in chosen.got]
        names = list(SubscriberTag.objects.values_list("name", flat=True))
        offered_others = newsletters.filter(channel="email").exclude(pk=letter.subscribable_id)
        offered = {
            "any_of": [(name, name) for name in names],
            "none_of": [(name, name) for name in names],
            "others": [(row.name, str(row)) for row in offered_others.order_by("title", "name")],
            "got": [(str(key), title) for key, title in self.had.items()],
        }
        for part, choices in offered.items():
            if choices:
                self.fields[part].choices = choices  # type: ignore[attr-defined]
            else:
                del self.fields[part]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        got = {key: self.had[key] for key in map(int, data.pop("got", []))}
        try:
            self.audience = replace(chosen_audience(self.newsletter, **data), got=got)
        except Refused as error:
            add_refusal(self, error)
        return data


class ScheduleForm(forms.Form):
    """Day and time in the newsletter's time zone."""

    at = forms.CharField(widget=MomentWidget())

    def __init__(self, newsletter: Subscribable, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.zone = newsletter.zone
        shown = wall(utcnow(), self.zone)
        zone = zone_words(self.zone)
        self.fields["at"].label = f"Send at ({zone})"
        self.fields[
            "at"
        ].help_text = f"In the newsletter’s time zone, where it’s {clock_words(shown.time())} now."

    def clean_at(self) -> datetime:
        """Return the instant; in a clock's gap, the first one after it."""
        try:
            reading = datetime.fromisoformat(self.cleaned_data["at"])
        except ValueError:
            reading = None
        if reading is None or reading.tzinfo is not None:
            raise forms.ValidationError("Enter a day and a time, such as 2026-03-01T07:00.")
        try:
            return first_instant(reading, self.zone)
        except OverflowError as error:
            raise forms.ValidationError("Enter a valid year.") from error


def words_of(form: PictureForm) -> str:
    return " ".join(str(error) for errors in form.errors.values() for error in errors)


def posted_text(request: HttpRequest) -> LetterText:
    return LetterText(request.POST.get("subject", ""), request.POST.get("markdown", ""))


def in_bounds(text: LetterText) -> LetterText:
    """Cut a text that is too long to be saved, for the preview."""
    return LetterText(text.subject[:LONGEST_SUBJECT], text.markdown[:MOST_MARKDOWN])


def seen(request: HttpRequest) -> int:
    version = request.POST.get("version", "")
    return int(version) if version.isdecimal() and len(version) < 10 else 0


def shown_letter_state(letter: Broadcast) -> tuple[str, str]:
    state = "trouble" if letter.state == "scheduled" and letter.last_error else letter.state
    return state, LETTER_STATE_WORDS[state]


def in_zone(moment: datetime, subscribable: Subscribable) -> str:
    return moment_words(moment, subscribable.zone)


def for_whom(letter: Broadcast) -> str:
    """Describe the audience without counting it, or return its error."""
    try:
        recipients_of(letter)
        return f"For {audience_words(letter)}."
    except Refused as error:
        return str(error)


def goes_to(letter: Broadcast) -> str:
    """Return "812 of 10,000 subscribers as of now: those with the tag “press”", or the error."""
    try:
        count, every = count_readers(letter)
        whom = audience_words(letter)
    except Refused as error:
        return str(error)
    if not every:
        return "nobody yet. You can send it once there’s a confirmed subscriber."
    number = (
        pluralize(count, "subscriber") if count == every else f"{count:,} of {pluralize(every, 'subscriber')}"
    )
    return f"{number} now: {whom}"


def before_sending(letter: Broadcast) -> Facts:
    newsletter, left_out = letter.subscribable, ""
    if is_for_some(letter.audience):
        left_out = "No. Issues sent to part of the list aren’t archived."
    elif newsletter.visibility == Subscribable.Visibility.PRIVATE:
        left_out = "No. The newsletter is private."
    is_paused = newsletter.sending_paused_at is not None
    return Facts(
        ("Newsletter", str(newsletter)),
        ("Subject", letter.subject),
        ("To", goes_to(letter)),
        ("From", sender_of(newsletter)),
        ("Through", account_words(newsletter)),
        ("Replies to", newsletter.reply_to),
        ("In the archive", left_out),
        ("Paused", "The newsletter is paused. This waits until you resume it." if is_paused else ""),
    )


def letters_written(subscribable: Subscribable) -> Part:
    """List unsent broadcasts, with a button to write one; "" for a bridge."""
    if subscribable.channel != "email":
        return ""
    rows = unsent_letters().filter(subscribable=subscribable).defer("markdown")[:LETTERS_SHOWN]
    table = Table(
        ("email", "state", "sent", "changed"),
        (
            (
                Link(row),
                shown_letter_state(row)[1],
                in_zone(row.send_at, subscribable) if row.send_at else "when you send it",
                when(row.changed_at, zone=subscribable.zone),
            )
            for row in rows
        ),
        "No drafts.",
    )
    return (table, Button(add_url(Broadcast, subscribable=subscribable.pk), "Write an email"))


def drafts_and_scheduled(user: Any) -> Part:
    """List the newest unsent emails of all their newsletters in one time zone; "" if there are none."""
    unsent = visible_to(user, unsent_letters(), "subscribable")
    rows = unsent.select_related("subscribable").defer("markdown")[:LETTERS_SHOWN]
    return Table(
        ("email", "newsletter", "state", "scheduled"),
        ((Link(row), row.subscribable, shown_letter_state(row)[1], when(row.send_at)) for row in rows),
        "",
    )
