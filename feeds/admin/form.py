from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import escape
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from feeds.adding.add import EDITABLE
from feeds.admin.tag import TagsField, in_order
from feeds.credentials import MAX_HEADER_NAME, MAX_VALUE, checked_credentials, kind_of
from feeds.models import Feed
from feeds.models.feed import DELAYS, SWITCHES, TIMES

FIELDS = ("user", "password", "header", "value", "forget")
INTRO = (
    "For a private feed: a user name and password, or a header such as X-Api-Key."
    " Stored encrypted, and sent only to the feed’s host."
)
READING_FIELDS = ("pace", TIMES[-1], "ceiling_minutes", *SWITCHES)
FIELD_LABELS = {
    "min_delay_minutes": "Not before",
    "await_stabilization_minutes": "Unchanged for",
    "max_delay_minutes": "At the latest after",
    "recheck_every_minutes": "Read every (minutes)",
    "pace": "Read it",
    "ceiling_minutes": "At least every (minutes)",
    "hold_floods": "Hold many posts at once",
    "join_reposts": "Recognise reposts",
    "use_hub": "Let its hub push posts",
    "fetch_whole": "Fetch whole posts",
}


def secret_field(label: str, *, is_shown_again: bool = False) -> forms.CharField:
    widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}, render_value=is_shown_again)
    return forms.CharField(label=label, required=False, max_length=MAX_VALUE, strip=False, widget=widget)


def text_field(label: str, limit: int) -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"})
    return forms.CharField(label=label, required=False, max_length=limit, widget=widget)


class FeedForm(forms.ModelForm):  # type: ignore[type-arg]
    user = text_field("User name", MAX_VALUE)
    password = secret_field("Password")
    header = text_field("Header", MAX_HEADER_NAME)
    value = secret_field("Value of the header")
    forget = forms.BooleanField(label="Delete what is stored", required=False, widget=UnfoldBooleanWidget())
    tags = TagsField()

    class Meta:
        model = Feed
        fields = ("url", "title", *DELAYS, *READING_FIELDS)
        labels = FIELD_LABELS
        widgets = {  # noqa: RUF012
            "url": UnfoldAdminTextInputWidget(),
            "title": UnfoldAdminTextInputWidget(),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["tags"] = ", ".join(in_order(tag.name for tag in self.instance.tags.all()))

    def credentials(self) -> dict[str, str] | None:
        """Return {} to delete what is stored, None to keep it."""
        given = {name: text for name in FIELDS[:4] if (text := self.cleaned_data.get(name))}
        return given or ({} if self.cleaned_data.get("forget") else None)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        given = self.credentials()
        if given and data.get("forget"):
            self.add_error("forget", "Turn this off, or leave the fields above empty.")
        if given and not self.errors:
            try:
                checked_credentials(given)
            except ValidationError as error:
                for name, messages in error.message_dict.items():
                    self.add_error(name if name in self.fields else "user", messages)
        shortest, longest = data.get("min_delay_minutes"), data.get("max_delay_minutes")
        if shortest is not None and longest is not None and longest < shortest:
            message = "“At the latest after” must not be less than “Not before”."
            self.add_error("max_delay_minutes", ValidationError(message))
        return data

    def changes(self) -> dict[str, Any]:
        data = self.cleaned_data
        changes = {name: data[name] for name in self.changed_data if name in EDITABLE}
        given = self.credentials()
        return changes if given is None else {**changes, "credentials": given}


def intro(feed: Feed) -> str:
    stored = kind_of(feed)
    if not stored:
        return INTRO
    return f"{INTRO} Stored now: {stored}. What you type replaces it; leave the fields empty to keep it."


def fieldsets(feed: Feed) -> Any:
    closed = {"classes": ("collapse",)}
    return (
        ("Settings", {"fields": ("url", "title", "tags")}),
        ("Reading", {"fields": READING_FIELDS, **closed}),
        ("How long to wait for changes (minutes)", {"fields": DELAYS, **closed}),
        (
            "User name and password",
            {
                "fields": FIELDS if feed.credentials else FIELDS[:4],
                "description": escape(intro(feed)),
                **closed,
            },
        ),
    )
