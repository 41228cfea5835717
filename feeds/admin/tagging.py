"""Tags in forms: a line of names, and the two actions on many feeds."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.html import escape
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from common.text import pluralize
from feeds.models import Tag
from feeds.tags import tag_feeds, tags_in, untag_feeds

MAX_LINE = 5000
SUGGESTED = 200


class TagsField(forms.CharField):
    """Names with commas between them; cleaned to a list."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("label", "Tags")
        kwargs.setdefault("required", False)
        kwargs.setdefault("max_length", MAX_LINE)
        kwargs.setdefault("help_text", "Separate them by commas. The list of feeds can be filtered by them.")
        widget = UnfoldAdminTextInputWidget(attrs={"placeholder": "news, machine learning"})
        super().__init__(widget=widget, **kwargs)

    def clean(self, value: Any) -> Any:
        try:
            return tags_in(super().clean(value))
        except ValidationError as error:
            raise ValidationError(error.messages) from error

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return {*tags_in(initial or "")} != {*tags_in(data or "")}
        except ValidationError:
            return True


def in_order(names: Iterable[str]) -> list[str]:
    """As in a dictionary, whatever the capitals."""
    return sorted(names, key=lambda name: (name.casefold(), name))


class AddTags(forms.Form):
    names = TagsField(required=True, error_messages={"required": "Give at least one tag."})

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = f"{pluralize(len(keys), 'feed')} will have these tags besides those they have."
        if there := in_order(Tag.objects.values_list("name", flat=True)[:SUGGESTED]):
            text = f"Separate them by commas. There are so far: {', '.join(there)}."
            self.fields["names"].help_text = escape(text)  # which is shown as html


class RemoveTags(forms.Form):
    names = forms.MultipleChoiceField(
        label="Tags",
        error_messages={"required": "Choose at least one tag."},
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = f"Which tags should {pluralize(len(keys), 'feed')} lose?"
        names = Tag.objects.filter(feeds__in=keys).distinct().values_list("name", flat=True)
        field: Any = self.fields["names"]
        field.choices = [(name, name) for name in in_order(names)]
        if not field.choices:
            self.intro = "None of these feeds has a tag."


def add_tags(request: HttpRequest, keys: list[int], *, names: list[str]) -> str:
    done = tag_feeds(feeds=keys, names=names)
    said = f"{pluralize(done, 'feed')} got {_listed(names)}."
    return said if done == len(keys) else f"{said} {len(keys) - done:,} had it already."


def remove_tags(request: HttpRequest, keys: list[int], *, names: list[str]) -> str:
    done = untag_feeds(feeds=keys, names=names)
    return f"{pluralize(done, 'feed')} lost {_listed(names)}."


def _listed(names: list[str]) -> str:
    tags = ", ".join(f"“{name}”" for name in names)
    return f"the tag {tags}" if len(names) == 1 else f"the tags {tags}"
