"""Form fields of what channels ask for: one for each field of each channel, named channel_field."""

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.utils.html import escape
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common import kinds

LONGEST = 700


def name_of(kind: kinds.Kind, field: kinds.Field) -> str:
    """The form's name of a channel's field: “visibility” is another thing elsewhere."""
    return f"{kind.key}_{field.name}"


def option_fields() -> dict[str, forms.Field]:
    """Of a newsletter or bridge."""
    return {name_of(kind, field): _field(field) for kind, field in _each("option_fields")}


def destination_fields() -> dict[str, forms.Field]:
    """Of a subscriber."""
    return {name_of(kind, field): _field(field) for kind, field in _each("destination_fields")}


def shown_for(attribute: str, condition: Mapping[str, str]) -> dict[str, str]:
    """When each field is shown: `condition` has an expression for each channel."""
    return {name_of(kind, field): condition.get(kind.key, "false") for kind, field in _each(attribute)}


def filled(kind: kinds.Kind, fields: tuple[kinds.Field, ...], data: Mapping[str, Any]) -> dict[str, str]:
    """What was typed for one channel, by the channel's own names; empty ones left out."""
    values = {field.name: str(data.get(name_of(kind, field)) or "") for field in fields}
    return {name: value for name, value in values.items() if value}


def refused(kind: kinds.Kind, message: str, otherwise: str) -> dict[str, str]:
    """A channel's refusal ("visibility: choose one of …") as form field and text."""
    name, colon, text = message.partition(": ")
    every = {field.name for field in (*kind.option_fields, *kind.destination_fields)}
    if colon and name in every:
        return {f"{kind.key}_{name}": text[:1].upper() + text[1:]}
    return {f"{kind.key}_{otherwise}": message}


def _each(attribute: str) -> Iterator[tuple[kinds.Kind, kinds.Field]]:
    for kind in kinds.all_kinds():
        for field in getattr(kind, attribute):
            yield kind, field


def _field(field: kinds.Field) -> forms.Field:
    # Not required by itself: only those of the chosen channel are needed, and the channel says so.
    if field.choices is not None:
        return forms.ChoiceField(
            required=False,
            choices=field.choices,
            label=field.label,
            help_text=escape(field.help),
            widget=UnfoldAdminSelectWidget(),
        )
    widget = UnfoldAdminPasswordWidget() if field.secret else UnfoldAdminTextInputWidget()
    return forms.CharField(
        required=False, max_length=LONGEST, label=field.label, help_text=escape(field.help), widget=widget
    )
