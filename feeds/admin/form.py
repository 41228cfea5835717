"""The form of a feed that is there."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import escape
from unfold.widgets import UnfoldAdminTextInputWidget

from feeds.adding.edit import EDITABLE
from feeds.admin import credentials
from feeds.admin.credentials import CredentialsForm
from feeds.admin.tagging import TagsField, in_order
from feeds.models import Feed

DELAY_FIELDS = ("min_delay_minutes", "await_stabilization_minutes", "max_delay_minutes")
READING = ("pace", "recheck_every_minutes", "ceiling_minutes", "use_hub", "hold_floods", "join_reposts")
FIELD_LABELS = {
    "min_delay_minutes": "Not before",
    "await_stabilization_minutes": "Unchanged for",
    "max_delay_minutes": "At the latest after",
    "recheck_every_minutes": "Read every (minutes)",
    "pace": "Read it",
    "ceiling_minutes": "At least every (minutes)",
    "hold_floods": "Hold floods",
    "join_reposts": "Recognise reposts",
    "use_hub": "Let its hub tell us",
}


class FeedForm(CredentialsForm, forms.ModelForm):  # type: ignore[type-arg]
    tags = TagsField()

    class Meta:
        model = Feed
        fields = ("url", "title", *DELAY_FIELDS, *READING)
        labels = FIELD_LABELS
        widgets = {  # noqa: RUF012
            "url": UnfoldAdminTextInputWidget(),
            "title": UnfoldAdminTextInputWidget(),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["tags"] = ", ".join(in_order(tag.name for tag in self.instance.tags.all()))

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        shortest, longest = data.get("min_delay_minutes"), data.get("max_delay_minutes")
        if shortest is not None and longest is not None and longest < shortest:
            message = "The longest delay must not be shorter than the shortest one."
            self.add_error("max_delay_minutes", ValidationError(message))
        return data

    def changes(self) -> dict[str, Any]:
        """What `alter_feed` is to change."""
        data = self.cleaned_data
        changes = {name: data[name] for name in self.changed_data if name in EDITABLE}
        given = self.credentials()
        return changes if given is None else {**changes, "credentials": given}


def fieldsets(feed: Feed) -> Any:
    """The parts of the form."""
    closed = {"classes": ("collapse",)}
    return (
        ("Settings", {"fields": ("url", "title", "tags")}),
        ("How it is read", {"fields": READING, **closed}),
        ("When a post counts as settled (minutes)", {"fields": DELAY_FIELDS, **closed}),
        (
            "User name and password",
            {
                "fields": credentials.FIELDS if feed.credentials else credentials.FIELDS[:4],
                "description": escape(credentials.intro(feed)),
                **closed,
            },
        ),
    )
