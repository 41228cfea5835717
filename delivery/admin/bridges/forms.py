"""Forms of a bridge, built from its channel spec."""

from collections.abc import Mapping
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from channels.letter import LetterError, Recipient
from channels.oauth import OAuth
from channels.webpush.channel import WebPushChannel
from common.admin.model_admin import StyledForm
from common.clock import utcnow
from common.parts import Box, Lines, Part, Strong, Text
from common.ports import channels
from common.ports.channels import read_fields
from common.refused import Refused
from delivery.bridges.connect import applications, oauth_of
from delivery.bridges.messages import looks_of, newest_letters
from feeds.models import Feed
from subscriptions.admin_words import rhythm_for_admins
from subscriptions.forms.admin import EARLY, ClockWidget, filled, form_field, name_of, refusal_by_field
from subscriptions.models import Subscribable
from subscriptions.models.subscribable import NAME
from subscriptions.subscribers.devices import count_devices

# No real recipient: only for the preview.
SAMPLE = Recipient(0, "", "")
NOBODY_TOLD = "No device gets notifications yet. Subscribers can turn them on on its page."
Arrangement = Subscribable.Arrangement
RHYTHMS = {
    Arrangement.EACH: "Each post on its own, once it settles",
    Arrangement.DAILY: "One post a day, if there is anything new",
    Arrangement.WEEKLY: "One post a week",
    Arrangement.MONTHLY: "One post a month",
}
# Fields of any new bridge.
OWN_NAMES = ("feeds", "title", "name")


def notification_of(subscribable: Subscribable) -> Part:
    """Show the newest post as a notification; "" if devices get none."""
    if not subscribable.offers_devices:
        return ""
    who = "" if count_devices(subscribable) else NOBODY_TOLD
    try:
        [letter] = newest_letters(subscribable, now=utcnow())
    except (Refused, LetterError) as error:
        return (who, str(error))
    looks = looks_of(letter, SAMPLE, kind=WebPushChannel.key)
    if looks.refusal:
        return (who, Text(looks.refusal, "alert"))
    title, *lines = looks.text.split("\n")
    said = f"{looks.length:,} of the {looks.limit:,} octets that a push has room for"
    notification = Lines((Strong(title), *filter(None, lines)))
    return (who, Box("look", Text(notification)), Text(said, "quiet fl-measure"))


class KindForm(StyledForm, forms.Form):
    """Base form with the fields of one channel, prefixed with its key."""

    def __init__(self, kind: channels.ChannelSpec, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind

    def add(self, fields: tuple[channels.Field, ...], known: Mapping[str, str]) -> None:
        for field in fields:
            made = form_field(field)
            made.required, made.initial = field.required, known.get(field.name, "")
            self.fields[name_of(self.kind, field)] = made

    def given(self, fields: tuple[channels.Field, ...]) -> dict[str, str]:
        """Return the typed values by the channel's own names."""
        return filled(self.kind, fields, self.cleaned_data)

    def refuse(self, error: Refused) -> None:
        """Show a refusal at the field it names, else above the form."""
        for name, text in refusal_by_field(self.kind, str(error), otherwise="").items():
            self.add_error(name if name in self.fields else None, text)


class DestinationForm(KindForm):
    """Destination of a bridge; secrets must be typed again.

    `asks_service`: require only the fields that the service can't supply.
    """

    def __init__(
        self,
        kind: channels.ChannelSpec,
        *args: Any,
        known: Any = None,
        asks_service: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(kind, *args, **kwargs)
        self.asks_service, self.oauth = asks_service, oauth_of(kind)
        self.add(kind.destination_fields, known or {})
        apps = applications(self.oauth) if self.oauth else []
        # Where admins register applications, at least one is needed.
        self.can_ask = self.oauth is not None and bool(apps or not self.oauth.account_fields)
        if len(apps) > 1:
            self.fields["app"] = forms.ChoiceField(
                label="Application",
                required=False,
                choices=[(app.name, app.name) for app in apps],
                widget=UnfoldAdminSelectWidget(),
            )
        self.app = apps[0].name if apps else ""
        if asks_service:
            for field in kind.destination_fields:
                self.fields[name_of(kind, field)].required = field in self._asked()

    def _asked(self) -> list[channels.Field]:
        asks = self.oauth.asks if self.oauth else ()
        return [field for field in self.kind.destination_fields if field.name in asks]

    def destination(self) -> dict[str, str]:
        return self.given(self.kind.destination_fields)

    def known_before(self) -> dict[str, str]:
        """Return the cleaned values that the request to the service needs. Raises InvalidDestination."""
        return read_fields(self._asked(), self.given(tuple(self._asked())), owner=self.kind.label)

    def typed_besides(self) -> dict[str, str]:
        """Return other values that aren't secret. They take precedence over the service's."""
        asked = self._asked()
        return self.given(
            tuple(field for field in self.kind.destination_fields if field not in asked and not field.secret)
        )

    def chosen_app(self) -> str:
        """Return the application's name, or "" if it registers itself."""
        return str(self.cleaned_data.get("app") or self.app)

    @property
    def fields_to_ask(self) -> list[forms.BoundField]:
        names = [name_of(self.kind, field) for field in self._asked()]
        return [self[name] for name in (*names, "app") if name in self.fields]

    @property
    def fields_to_paste(self) -> list[forms.BoundField]:
        """Return the fields that the service supplies, or that can be pasted."""
        asked = self._asked()
        rest = [field for field in self.kind.destination_fields if field not in asked]
        return [self[name_of(self.kind, field)] for field in rest]

    @property
    def is_pasted(self) -> bool:
        """Return whether pasted fields were submitted or have errors."""
        tried = self.is_bound and not self.asks_service
        return tried or any(field.errors for field in self.fields_to_paste)

    @property
    def words(self) -> dict[str, list[str]]:
        """Return what was typed, without secrets, to show again if the service refuses."""
        types = {name: getattr(field.widget, "input_type", "") for name, field in self.fields.items()}
        open_ = [name for name, kind in types.items() if kind != "password"]
        return {name: self.data.getlist(name) for name in open_ if name in self.data}  # type: ignore[attr-defined]


class ApplicationForm(forms.Form):
    """Credentials of an application registered at the service."""

    def __init__(self, oauth: OAuth, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.oauth = oauth
        for field in oauth.account_fields:
            made = form_field(field)
            made.required = field.required
            self.fields[name_of(oauth, field)] = made

    def values(self) -> dict[str, str]:
        return filled(self.oauth, self.oauth.account_fields, self.cleaned_data)

    def refuse(self, error: Refused) -> None:
        """Show a refusal at the field it names, else above the form."""
        name, _, text = str(error).partition(": ")
        field = name_of(self.oauth, name)
        known = field in self.fields
        self.add_error(field if known else None, text[:1].upper() + text[1:] if known else str(error))


class ConnectForm(DestinationForm):
    feeds = forms.ModelMultipleChoiceField(
        queryset=Feed.objects.none(),
        label="Posts of",
        error_messages={"required": "Choose at least one feed."},
    )
    title = forms.CharField(
        max_length=200, help_text="The bridge’s name in this admin, and {newsletter} in your own texts."
    )
    name = forms.CharField(
        max_length=64,
        validators=[NAME],
        widget=UnfoldAdminTextInputWidget(attrs={"spellcheck": "false", "autocapitalize": "none"}),
        help_text="Posts begin with it, in brackets. It can’t be changed later.",
    )

    def __init__(self, kind: channels.ChannelSpec, *args: Any, **kwargs: Any) -> None:
        super().__init__(kind, *args, **kwargs)
        choice: Any = self.fields["feeds"]
        choice.queryset = Feed.objects.filter(dropping=False).order_by("title", "pk")
        # The service first: its data is what people have at hand.
        last = OWN_NAMES
        self.order_fields([*(name for name in self.fields if name not in last), *last])

    @property
    def own_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in OWN_NAMES]


class HowForm(KindForm):
    """Schedule and channel options of a bridge."""

    arrangement = forms.ChoiceField(label="When", widget=UnfoldAdminRadioSelectWidget())
    at = forms.TimeField(
        label="At",
        required=False,
        widget=ClockWidget(),
        help_text="For one post a day, a week or a month. Settings has weekdays, every few posts and other"
        " schedules.",
    )

    def __init__(self, kind: channels.ChannelSpec, bridge: Subscribable, *args: Any, **kwargs: Any) -> None:
        super().__init__(kind, *args, **kwargs)
        self.bridge = bridge
        choices = [(str(key), words) for key, words in RHYTHMS.items() if key in kind.arrangements]
        if bridge.arrangement not in RHYTHMS:
            choices.append((bridge.arrangement, f"As it is: {rhythm_for_admins(bridge)}"))
        arrangement: Any = self.fields["arrangement"]
        arrangement.choices, arrangement.initial = choices, bridge.arrangement
        self.fields["at"].initial = EARLY if bridge.arrangement == Arrangement.EACH else bridge.at
        self.add(kind.option_fields, bridge.options)

    def changes(self) -> dict[str, Any]:
        arrangement, at = self.cleaned_data["arrangement"], self.cleaned_data["at"]
        found: dict[str, Any] = {"options": self.given(self.kind.option_fields)}
        if arrangement == self.bridge.arrangement and arrangement not in RHYTHMS:
            return found
        found["arrangement"] = arrangement
        return found if arrangement == Arrangement.EACH or at is None else {**found, "at": at}
