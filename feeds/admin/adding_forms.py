from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from feeds.addresses import MAX_FEED_URL
from feeds.admin.tag import TagsField
from feeds.models import Feed
from feeds.models.feed import A_MONTH
from feeds.rules.facts import Adding
from feeds.rules.finality import Timing

MAX_SECRET = 2000
LAST = 3
MOST = 500
STARTS = (
    (Feed.Start.FROM_NOW.value, "Only new posts"),
    (Feed.Start.LAST.value, "The last few posts, then new ones"),
    (Feed.Start.ALL.value, "All posts in the feed, then new ones"),
)
TIME_FIELDS = (
    "min_delay_minutes",
    "await_stabilization_minutes",
    "max_delay_minutes",
    "recheck_every_minutes",
)
TIME_LABELS = {
    "min_delay_minutes": "Not before (minutes)",
    "await_stabilization_minutes": "Unchanged for (minutes)",
    "max_delay_minutes": "At the latest after (minutes)",
    "recheck_every_minutes": "Read every (minutes)",
}


class SecretsForm(forms.Form):
    user = forms.CharField(
        label="User name",
        required=False,
        max_length=MAX_SECRET,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    password = forms.CharField(
        label="Password",
        required=False,
        max_length=MAX_SECRET,
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}, render_value=True),
    )

    def credentials(self) -> dict[str, str]:
        return {name: text for name in ("user", "password") if (text := self.cleaned_data.get(name))}


class AddressForm(SecretsForm):
    url = forms.CharField(
        label="Address",
        max_length=MAX_FEED_URL,
        error_messages={"required": "Paste an address, such as https://example.org."},
        help_text="Paste any address: a feed, a blog, a YouTube channel, a Mastodon profile or a GitHub"
        " repository. You choose from its feeds next.",
        widget=UnfoldAdminTextInputWidget(
            attrs={"placeholder": "https://example.org", "inputmode": "url", "autofocus": True}
        ),
    )


def _timing(name: str) -> forms.IntegerField:
    field: Any = Feed._meta.get_field(name)
    return forms.IntegerField(
        label=TIME_LABELS[name],
        min_value=0,
        max_value=A_MONTH,
        initial=field.default,
        help_text=field.help_text,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 0}),
    )


class ChoiceForm(SecretsForm):
    """Use `defaults()` for the first display."""

    url = forms.CharField(max_length=MAX_FEED_URL, widget=forms.HiddenInput())
    start = forms.ChoiceField(
        label="Which posts are sent?",
        choices=STARTS,
        initial=Feed.Start.FROM_NOW,
        widget=UnfoldAdminRadioSelectWidget(),
    )
    start_count = forms.IntegerField(
        label="How many",
        required=False,
        min_value=1,
        max_value=MOST,
        initial=LAST,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 1, "max": MOST}),
    )
    tags = TagsField()
    ping = forms.BooleanField(
        label="Send posts as soon as they are seen (ping)",
        required=False,
        help_text="Send immediately, without waiting. The times below don’t apply.",
        widget=UnfoldBooleanWidget(),
    )
    min_delay_minutes = _timing("min_delay_minutes")
    await_stabilization_minutes = _timing("await_stabilization_minutes")
    max_delay_minutes = _timing("max_delay_minutes")
    recheck_every_minutes = _timing("recheck_every_minutes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("user", "password"):
            self.fields[name].widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("start") == Feed.Start.LAST and not data.get("start_count"):
            self.add_error("start_count", ValidationError("Enter a number of posts, 1 or more."))
        if not data.get("ping") and data.get("max_delay_minutes", 0) < data.get("min_delay_minutes", 0):
            message = "“At the latest after” must not be less than “Not before”."
            self.add_error("max_delay_minutes", ValidationError(message))
        return data

    def times(self) -> dict[str, Any]:
        return {name: 0 if self.cleaned_data["ping"] else self.cleaned_data[name] for name in TIME_FIELDS}

    def waits(self) -> Timing:
        """Return the times as if Ping were off."""
        return Timing(*(self.cleaned_data[name] for name in TIME_FIELDS[:3]))

    def timing(self) -> Timing:
        times = self.times()
        return Timing(*(times[name] for name in TIME_FIELDS[:3]))

    def adding(self) -> Adding:
        return Adding(self.cleaned_data["start"], self.cleaned_data.get("start_count") or 0)

    def time_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("ping", *TIME_FIELDS)]

    def times_have_errors(self) -> bool:
        return any(self[name].errors for name in TIME_FIELDS)


def defaults(**given: Any) -> ChoiceForm:
    """Return a form that is bound to the defaults, so that it can be used like one that was sent."""
    usual = {name: field.initial for name, field in ChoiceForm.base_fields.items() if field.initial}
    if not Feed.objects.exists():
        # A first newsletter should not begin empty.
        usual["start"] = Feed.Start.LAST
    form = ChoiceForm({**usual, **given})
    form.is_valid()
    return form
