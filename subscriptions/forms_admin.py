"""Forms of the admin: they validate, explain, and never ask for JSON."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from common import kinds
from subscriptions.models import Subscribable, Subscription
from subscriptions.services.defining import SCHEDULING, USES, check

LINES = "One to a line: name = value."


class PairsField(forms.CharField):
    """A dict of texts, written as lines of `name = value`."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        kwargs.setdefault("widget", UnfoldAdminTextareaWidget(attrs={"rows": 4}))
        super().__init__(**kwargs)

    def prepare_value(self, value: Any) -> Any:
        return (
            "\n".join(f"{key} = {text}" for key, text in value.items()) if isinstance(value, dict) else value
        )

    def clean(self, value: Any) -> Any:
        pairs: dict[str, str] = {}
        for number, line in enumerate(str(value or "").splitlines(), 1):
            key, equals, text = line.partition("=")
            if line.strip() and not (equals and key.strip()):
                raise ValidationError(f"Line {number} is not of the form name = value.")
            if line.strip():
                pairs[key.strip()] = text.strip()
        return pairs

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool((initial or {}) != self.clean(data))


class SubscribableForm(forms.ModelForm):  # type: ignore[type-arg]
    channel = forms.ChoiceField(help_text="How it travels.")
    time_zone = forms.ChoiceField(help_text="Times and days are counted here.", initial="UTC")
    options = PairsField(label="channel options")
    params = PairsField(label="extra parameters", help_text=f"{LINES} Each is a %Field% in templates.")

    class Meta:
        model = Subscribable
        exclude = ()  # noqa: DJ006 - editable fields are marked on the model

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        channels = kinds.all_kinds()
        self.fields["channel"].choices = [(kind.key, kind.label) for kind in channels]  # type: ignore[attr-defined]
        self.fields["time_zone"].choices = [(name, name) for name in sorted(available_timezones())]  # type: ignore[attr-defined]
        known = "; ".join(
            f"{kind.label}: {', '.join(field.name for field in kind.option_fields)}"
            for kind in channels
            if kind.option_fields
        )
        self.fields["options"].help_text = f"{LINES} {known}"

    def clean(self) -> dict[str, Any]:
        """What the arrangement does not use goes back to its default: the form showed it."""
        data = super().clean() or {}
        for name in SCHEDULING - USES.get(str(data.get("arrangement")), frozenset()):
            field = Subscribable._meta.get_field(name)
            data[name] = field.get_default() if field.has_default() else None
        return data

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.errors:
            return
        try:
            check(self.instance)
        except ValidationError as error:
            self.add_error(None, error)


class SubscriberForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new subscriber: fields for every channel; the newsletter's channel picks its own."""

    class Meta:
        model = Subscription
        fields = ("subscribable",)

    confirmed = forms.BooleanField(
        required=False,
        initial=True,
        help_text="Without it, e-mail subscribers are asked to confirm first.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in destination_fields().items():
            self.fields[name] = field

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        subscribable = data.get("subscribable")
        if subscribable is None:
            return data
        try:
            kinds.get(subscribable.channel).parse_destination(self.destination_data(data))
        except kinds.InvalidDestination as error:
            raise ValidationError(str(error)) from error
        return data

    @staticmethod
    def destination_data(data: dict[str, Any]) -> dict[str, str]:
        """What the channel's parser gets: the filled fields that are its own."""
        own = {field.name for field in kinds.get(data["subscribable"].channel).destination_fields}
        return {name: str(data[name]) for name in own if data.get(name)}


def destination_fields() -> dict[str, forms.Field]:
    """Form fields for all channels' destinations, by name."""
    fields: dict[str, forms.Field] = {}
    for kind in kinds.all_kinds():
        for field in kind.destination_fields:
            widget = UnfoldAdminPasswordWidget() if field.secret else UnfoldAdminTextInputWidget()
            fields[field.name] = forms.CharField(
                required=False,
                max_length=700,
                label=f"{kind.label}: {field.label}",
                help_text=field.help,
                widget=widget,
            )
    return fields
