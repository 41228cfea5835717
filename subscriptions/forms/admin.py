"""Newsletter form. A channel's fields are named channel_field."""

from collections.abc import Iterator, Mapping
from datetime import time
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import NOT_PROVIDED
from django.forms.utils import flatatt
from django.utils import timezone
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from unfold.widgets import (
    INPUT_CLASSES,
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelect2Widget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common.admin.model_admin import StyledForm
from common.admin.refusals import add_refusal
from common.clock import zone_names
from common.ports import channels
from common.ports.registries import template_sources
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import SCHEDULING, check_subscribable, unused_name
from subscriptions.rules.schedule import ARRANGEMENTS, on_weekdays, week_plan
from subscriptions.rules.validation import InvalidSchedule, check_schedule, check_zone

LONGEST_OPTION, LONGEST_LINES = 700, 2_000
EARLY = time(7)
Arrangement = Subscribable.Arrangement
RHYTHMS = {"weekly": "on one or several weekdays", "cron": "my own schedule, as a cron line"}


def name_of(kind: channels.Keyed, field: channels.Field | str) -> str:
    """Return a JavaScript variable's name."""
    name = field if isinstance(field, str) else field.name
    return f"{kind.key}_{name}".replace("-", "_")


def destination_form_fields() -> dict[str, forms.Field]:
    return {name_of(kind, field): form_field(field) for kind, field in _each("destination_fields")}


def shown_for(attribute: str, condition: Mapping[str, str]) -> dict[str, str]:
    """Return conditions by field. `condition` has an expression per channel."""
    return {name_of(kind, field): condition.get(kind.key, "false") for kind, field in _each(attribute)}


def filled(
    kind: channels.Keyed, fields: tuple[channels.Field, ...], data: Mapping[str, Any]
) -> dict[str, str]:
    values = {field.name: str(data.get(name_of(kind, field)) or "") for field in fields}
    return {name: value for name, value in values.items() if value}


def refusal_by_field(kind: channels.ChannelSpec, message: str, otherwise: str) -> dict[str, str]:
    """Split a channel's refusal ("visibility: choose one of …") into field and text."""
    name, colon, text = message.partition(": ")
    every = {field.name for field in (*kind.option_fields, *kind.destination_fields)}
    if colon and name in every:
        return {name_of(kind, name): text[:1].upper() + text[1:]}
    return {name_of(kind, otherwise): message}


def _each(attribute: str) -> Iterator[tuple[channels.ChannelSpec, channels.Field]]:
    for kind in channels.newsletter_kinds():
        for field in getattr(kind, attribute):
            yield kind, field


def form_field(field: channels.Field) -> forms.Field:
    # Only the chosen channel requires its fields, and checks that itself.
    if field.choices is not None:
        return forms.ChoiceField(
            required=False,
            choices=field.choices,
            label=field.label,
            help_text=escape(field.help),
            widget=UnfoldAdminSelectWidget(),
        )
    widget: forms.Widget = UnfoldAdminTextInputWidget(attrs={"spellcheck": "false", "autocomplete": "off"})
    if field.secret:
        widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password", "spellcheck": "false"})
    elif field.many_lines:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})
    return forms.CharField(
        required=False,
        max_length=LONGEST_LINES if field.many_lines else LONGEST_OPTION,
        label=field.label,
        help_text=escape(field.help),
        widget=widget,
    )


class PairsField(forms.CharField):
    """Dict of texts, as lines of `name = value`."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        kwargs.setdefault("widget", UnfoldAdminTextareaWidget(attrs={"rows": 4}))
        super().__init__(**kwargs)

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return "\n".join(f"{key} = {text}" for key, text in value.items())

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
        try:
            return bool((initial or {}) != self.clean(data))
        except ValidationError:
            return True


class ClockWidget(forms.TimeInput):
    """Without the admin's notes about the server's time."""

    input_type = "time"

    def __init__(self) -> None:
        super().__init__(attrs={"class": " ".join(INPUT_CLASSES)}, format="%H:%M")


class ZoneWidget(UnfoldAdminSelect2Widget):  # type: ignore[misc]
    """Rendered without templates: one for each of 600 options would take 50 ms."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        rows = ((zone, mark_safe(" selected") if zone == value else "") for zone, _ in self.choices)
        options = format_html_join("", '<option value="{0}"{1}>{0}</option>', rows)
        own = flatatt({**self.attrs, **(attrs or {}), "name": name})
        return format_html("<select{}>{}</select>", own, options)


class ZoneField(forms.ChoiceField):
    widget = ZoneWidget

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=lambda: [(name, name) for name in sorted(zone_names())], **kwargs)

    def validate(self, value: Any) -> None:
        if not value and not self.required:
            return
        try:
            check_zone(str(value))
        except ValueError as error:
            raise ValidationError(str(error)) from error


class SubscribableForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    """Base of `subscribable_form()`."""

    channel = forms.ChoiceField(
        help_text="How it is sent: as a newsletter by email, or as a bridge to an account."
    )
    time_zone = ZoneField(
        help_text="Days and times are in this time zone. Type to search, for example Paris."
    )
    at = forms.TimeField(
        help_text="When the issue is sent, for example 07:00. It has the posts that settled by then.",
        widget=ClockWidget(),
    )
    weekdays = forms.TypedMultipleChoiceField(
        required=False,
        coerce=int,
        choices=Subscribable.Weekday.choices,
        help_text="An issue is sent on each of these days if there are new posts.",
    )
    template = forms.ChoiceField(
        required=False, help_text="The template of its emails. The default suits most newsletters."
    )
    params = PairsField(
        label="Extra parameters",
        help_text="One to a line, for example greeting = Dear reader. Each is a %Field% in templates.",
    )

    class Meta:
        model = Subscribable
        # `weekdays` replaces weekday.
        exclude = ("options", "weekday")  # noqa: DJ006 - editable fields are marked on the model
        widgets = {  # noqa: RUF012
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 3}),
            "embed_hosts": UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        }
        # The admin shows help as HTML.
        help_texts = {  # noqa: RUF012
            "cron": "Minute, hour, day, month, weekday: 0 7 * * 1,4 is Monday and Thursday at 7:00.",
            "n": "For example 5.",
            "max_wait_days": "Send fewer posts after this many days. Empty: always wait for all of them.",
            "language": "The language of its emails, for example en.",
            "reply_to": "For replies, for example editor@example.org. Empty: the sender.",
            "from_email": "For example Example Weekly &lt;letters@example.org&gt;. Empty: its title, and the"
            " address of its email account.",
            "welcome": "Sent after someone confirms, not to imported subscribers.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _offer(self, "channel", [(kind.key, kind.label) for kind in channels.newsletter_kinds()])
        names = {name for source in template_sources for name in source()} | {self.instance.template}
        _offer(self, "template", [("", "The usual one"), *((name, name) for name in sorted(names) if name)])
        allowed = ", ".join(settings.HOOK_MODULES)
        loadable = f"Allowed modules: {allowed}." if allowed else "None is allowed yet: set HOOK_MODULES."
        _explain(self, "hooks", f"A Python module with your own code. {loadable}")
        _offer(self, "arrangement", [(key, RHYTHMS.get(key, words)) for key, words in Arrangement.choices])
        if plan := week_plan(self.instance.schedule):
            # Several weekdays are stored as a cron line.
            self.initial.update(
                {"arrangement": "weekly", "at": plan.at, "weekdays": plan.weekdays, "cron": ""}
            )
        else:
            self.initial.setdefault("weekdays", [Subscribable.Weekday.MONDAY])
        if self.instance.pk is None:
            if "name" in self.fields:
                self.fields["name"].required = False
                _explain(self, "name", "Part of its address and of commands. Empty: made from the title.")
            closed = "Private and closed at first if its feed needs credentials."
            _explain(self, "visibility", closed)
            self.fields["time_zone"].initial = timezone.get_current_timezone_name()
            self.fields["at"].initial = EARLY
            if not self.is_bound and "time_zone" not in self.initial:
                self.fields["time_zone"].widget.attrs["data-of-browser"] = ""
        for kind in channels.newsletter_kinds():
            for field in kind.option_fields if kind.key == self.instance.channel else ():
                if name_of(kind, field) in self.fields:
                    self.fields[name_of(kind, field)].initial = self.instance.options.get(field.name, "")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.instance.pk is None and "name" in self.fields and not data.get("name"):
            data["name"] = free_name(data.get("title", "")) or unused_name("newsletter")
        # Each tab of the page has only some fields.
        if "arrangement" in self.fields:
            self._clean_schedule(data)
        if "approval" in self.fields and data.get("approval") != Subscribable.Approval.DELAY:
            data["approval_minutes"] = None
            self.errors.pop("approval_minutes", None)
        if "channel" in data:
            kind = channels.get(data["channel"])
            try:
                self.instance.options = kind.parse_options(filled(kind, kind.option_fields, data))
            except channels.InvalidDestination as error:
                for name, text in refusal_by_field(kind, str(error), otherwise="").items():
                    self.add_error(name if name in self.fields else "channel", text)
        return data

    def _clean_schedule(self, data: dict[str, Any]) -> None:
        unused = SCHEDULING - ARRANGEMENTS.get(str(data.get("arrangement")), frozenset())
        days, at = data.pop("weekdays", []), data.get("at")
        if data.get("arrangement") == Arrangement.WEEKLY and not days:
            self.add_error("weekdays", "Choose at least one weekday.")
        elif data.get("arrangement") == Arrangement.WEEKLY and at is not None:
            schedule = on_weekdays(days, at)
            data |= {"arrangement": schedule.arrangement, "cron": schedule.cron, "weekday": schedule.weekday}
            self.instance.weekday = schedule.weekday
            unused = SCHEDULING - ARRANGEMENTS[schedule.arrangement] - {"at"}
        for name in unused - {"weekday", "weekdays"}:
            default = getattr(Subscribable._meta.get_field(name), "default", NOT_PROVIDED)
            data[name] = None if default is NOT_PROVIDED else default
            self.errors.pop(name, None)

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        # In spite of other errors, to show all at once.
        try:
            check_schedule(self.instance.schedule, self.instance.time_zone)
        except InvalidSchedule as error:
            if error.field not in self.errors:
                self.add_error(error.field, str(error))
        if self.errors:
            return
        try:
            check_subscribable(self.instance)
        except ValidationError as error:
            add_refusal(self, error)


def stored_fields(form: SubscribableForm) -> dict[str, Any]:
    """Return what `define_subscribable` and `alter_subscribable` take, from a valid form."""
    data = form.cleaned_data
    own = {field.name for field in Subscribable._meta.concrete_fields}
    unused = SCHEDULING - ARRANGEMENTS[data["arrangement"]]
    fields = {name: value for name, value in data.items() if name in own - unused}
    return {**fields, "options": form.instance.options}


def free_name(title: str) -> str:
    """Return a name for the address, or "" if the title has no letters for one."""
    return unused_name(wanted) if (wanted := slugify(title)) else ""


def subscribable_form() -> type[SubscribableForm]:
    fields = {name_of(kind, field): form_field(field) for kind, field in _each("option_fields")}
    return type("SubscribableForm", (SubscribableForm,), fields)


def _offer(form: forms.BaseForm, name: str, choices: list[tuple[str, str]]) -> None:
    if name in form.fields:
        form.fields[name].choices = choices  # type: ignore[attr-defined]


def _explain(form: forms.BaseForm, name: str, text: str) -> None:
    if name in form.fields:
        form.fields[name].help_text = escape(text)  # the admin shows help as HTML
