"""Actions of the admin made from the verbs of a resource."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils import timezone
from unfold.widgets import INPUT_CLASSES, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.admin.refusals import NO_ADDRESS, REFUSALS, not_done
from common.clock import utcnow, zone_words
from common.ports.panels import Action, CannotAct
from common.resources import ADMIN, CLICK_BUDGET, Done, Given, Resource, Verb


def actions_of(resource: Resource[Any]) -> list[Action]:
    return [admin_action(resource, verb) for verb in resource.verbs(ADMIN)]


def admin_action(resource: Resource[Any], verb: Verb) -> Action:
    def chosen(keys: list[int]) -> list[Any]:
        return list(resource.rows().filter(pk__in=keys).order_by("pk")[: verb.most])

    def run(request: HttpRequest, keys: list[int], **given: Any) -> str:
        """Report refusals row by row."""
        known = {"now": utcnow(), "budget": CLICK_BUDGET, "to": address_of(request, verb), "by": ADMIN}
        said = Counter[str]()
        for row in chosen(keys):
            try:
                said[verb.run(resource, row, given, **known).sentence] += 1
            except REFUSALS as error:
                messages.error(request, not_done(error))
        if verb.most is not None and (left := len(keys) - verb.most) > 0:
            said[f"{left:,} left alone: at most {verb.most:,} at once."] += 1
        return " ".join(f"{count} times: {each}" if count > 1 else each for each, count in said.items())

    def sentences(keys: list[int]) -> list[str]:
        asked = verb.asks(chosen(keys)) if verb.asks else []
        return [asked.sentence] if isinstance(asked, Done) else list(asked)

    given = verb.given(ADMIN)
    return Action(
        verb.name,
        verb.title,
        run,
        confirm=sentences if verb.is_harmful else None,
        form=form_of(given, chosen, sentences) if given or (verb.asks and not verb.is_harmful) else None,
        fits=verb.fits,
        permission=verb.permission,
        is_rare=verb.is_rare,
        tab=verb.tab,
    )


def address_of(request: HttpRequest, verb: Verb) -> str:
    """Return the user's address, for a verb that writes to it. Raises CannotAct."""
    address: str = getattr(request.user, "email", "")
    if not address and verb.takes("to"):
        raise CannotAct(NO_ADDRESS)
    return address


def form_of(
    given: Sequence[Given], chosen: Callable[[list[int]], list[Any]], asks: Callable[[list[int]], list[str]]
) -> Callable[..., forms.Form]:
    """Return a form of the arguments, below what the verb would do."""

    class VerbForm(forms.Form):
        def __init__(self, keys: list[int], **options: Any) -> None:
            super().__init__(**options)
            self.intro = " ".join(asks(keys))
            rows = chosen(keys)
            for each in given:
                self.fields[each.name] = form_field(each, rows)

    return VerbForm


def form_field(given: Given, rows: Sequence[Any]) -> forms.Field:
    argument = given.argument
    named: dict[str, Any] = {
        "label": argument.label or None,
        "required": given.is_required,
        "initial": argument.initial(rows) if argument.initial else None,
    }
    if argument.choices is not None:
        return forms.ChoiceField(choices=argument.choices(rows), widget=UnfoldAdminSelectWidget(), **named)
    if given.kind is datetime:
        zone = argument.zone(rows) if argument.zone else ZoneInfo(timezone.get_current_timezone_name())
        return MomentField(zone, help_text=f"In {zone_words(zone)} ({zone}).", **named)
    return forms.CharField(
        max_length=argument.longest, widget=UnfoldAdminTextInputWidget(), help_text=argument.help, **named
    )


class MomentWidget(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(attrs={"class": " ".join(INPUT_CLASSES)}, format="%Y-%m-%dT%H:%M")


class MomentField(forms.DateTimeField):
    """A time to come, in `zone`."""

    widget = MomentWidget

    def __init__(self, zone: ZoneInfo, **options: Any) -> None:
        super().__init__(**options)
        self.zone = zone

    def prepare_value(self, value: Any) -> Any:
        with timezone.override(self.zone):
            return super().prepare_value(value)

    def to_python(self, value: Any) -> datetime | None:
        with timezone.override(self.zone):
            return super().to_python(value)

    def validate(self, value: Any) -> None:
        super().validate(value)
        if value is not None and value <= utcnow():
            raise forms.ValidationError("That time has passed. Give a later one.")
