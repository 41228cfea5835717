from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy

from common.clock import utcnow
from common.ports import channels
from common.ports.channels import InvalidDestination, ParsedDestination
from subscriptions.models import Subscribable
from subscriptions.rules.origin import Origin
from subscriptions.rules.sign_up import LONGEST_NAME, MOST_CHOSEN_AT_ONCE
from subscriptions.subscribers import antispam
from subscriptions.subscribers.sign_up import at_most_at_once, sign_up_parsed

LONGEST_PHONE = 40
LONGEST_CODE = 20
LONGEST_TOKEN = 2000
READ_BY = ("region", "countries")


class PageForm(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class TrapForm(PageForm):
    website = forms.CharField(
        label=gettext_lazy("Leave this empty"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "tabindex": "-1"}),
    )

    @property
    def is_robot(self) -> bool:
        """Return whether the hidden field was filled in. If so, do nothing."""
        return bool(self.data.get("website"))


class EmailForm(PageForm):
    email = forms.CharField(
        label=gettext_lazy("Your email address"),
        max_length=320,
        error_messages={"required": gettext_lazy("Please type your email address.")},
        widget=forms.EmailInput(attrs={"autocomplete": "email", "placeholder": "you@example.org"}),
    )
    channel = "email"

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        try:
            self.parsed = channels.get(self.channel).parse_destination({"email": email})
        except InvalidDestination as error:
            message = gettext("This does not look like an email address. Please check it.")
            raise forms.ValidationError(message) from error
        return email


class NameForm(PageForm):
    name = forms.CharField(
        label=gettext_lazy("Your name"),
        required=False,
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class RobotProofForm(TrapForm):
    """In doubt it asks a question: then it is invalid and shown again (templates/pages/_form_safety.html)."""

    challenge = True
    reply = forms.CharField(
        required=False,
        max_length=antispam.LONGEST_REPLY,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "numeric"}),
    )

    def __init__(self, *args: Any, ip: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ip = ip
        self.now = utcnow()
        self.asks = False

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors and not self.is_robot and not self._is_by_a_person(data):
            self.asks = True
            message = gettext("Please answer one question, so that we know you’re a person.")
            if data["reply"]:
                message = gettext("That’s not the right answer. Here’s another question.")
            self.add_error("reply", message)
            self.data = {**self.data.dict(), "reply": ""} if hasattr(self.data, "dict") else self.data
        return data

    @cached_property
    def fresh_shown(self) -> str:
        """Hidden time stamp, renewed whenever the form is shown."""
        return antispam.shown_stamp(now=self.now)

    @cached_property
    def fresh_question(self) -> str:
        return antispam.new_question(now=self.now, ip=self.ip)

    @property
    def question_words(self) -> str:
        return antispam.question_text(self.fresh_question, now=self.now)

    def _is_by_a_person(self, data: dict[str, Any]) -> bool:
        if data["reply"]:
            question = self._hidden("question")
            return antispam.is_answered(question, data["reply"], now=self.now, ip=self.ip)
        # Forms on other sites have no time stamp. The limits apply.
        if (shown := self._hidden("shown")) and not antispam.was_read(shown, now=self.now):
            return False
        return not self.challenge or antispam.is_solved(self._hidden("solution"), now=self.now)

    def _hidden(self, name: str) -> str:
        return str(self.data.get(name, ""))[:LONGEST_TOKEN]


class SignUpForm(RobotProofForm, EmailForm, NameForm):
    field_order: Sequence[str] = ("email", "name", "website", "reply")
    next_page = "subscriptions:asked"

    def __init__(self, *args: Any, subscribables: Sequence[Subscribable], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.subscribables = subscribables
        self.challenge = any(each.challenge for each in subscribables)
        if subscribables:
            self.channel = subscribables[0].channel

    def save(self, *, origin: Origin, language: str) -> None:
        """Raises OverLimit."""
        sign_up_parsed(
            subscribables=self.subscribables,
            parsed=self.parsed,
            name=self.cleaned_data.get("name", ""),
            origin=origin,
            now=self.now,
            language=language,
        )

    @property
    def told(self) -> dict[str, str]:
        """Return the values for the URL of the next page."""
        names = " ".join(each.name for each in self.subscribables)
        return {"email": self.cleaned_data["email"], "name": self.cleaned_data["name"], "newsletters": names}

    @property
    def consent(self) -> str:
        """Exact text to which the reader agrees."""
        return f"{self.button}. {self.note}"

    @property
    def button(self) -> str:
        if len(self.subscribables) == 1:
            return gettext("Subscribe to %(newsletter)s") % {"newsletter": self.subscribables[0]}
        return gettext("Subscribe")

    @property
    def note(self) -> str:
        return gettext("We’ll email you a link to confirm. You can unsubscribe at any time with one click.")


class SeveralForm(SignUpForm):
    def clean(self) -> dict[str, Any]:
        if not self.subscribables:
            self.add_error(None, gettext("Choose at least one newsletter."))
        elif len(self.subscribables) > MOST_CHOSEN_AT_ONCE:
            self.add_error(None, at_most_at_once())
        return super().clean()

    @property
    def button(self) -> str:
        return gettext("Subscribe")


class PhoneForm(SignUpForm):
    email = None  # type: ignore[assignment]
    name = None  # type: ignore[assignment]
    phone = forms.CharField(
        label=gettext_lazy("Your mobile number"),
        max_length=LONGEST_PHONE,
        error_messages={"required": gettext_lazy("Please type your mobile number.")},
        widget=forms.TextInput(
            attrs={
                "type": "tel",
                "autocomplete": "tel",
                "inputmode": "tel",
                "placeholder": "+49 1512 3456789",
            }
        ),
    )
    field_order = ("phone", "website", "reply")
    next_page = "subscriptions:code"

    def clean_phone(self) -> str:
        typed: str = self.cleaned_data["phone"]
        try:
            self.parsed = read_number(self.channel, typed, self.subscribables[0].options)
        except InvalidDestination as error:
            raise forms.ValidationError(str(error)) from error
        return typed

    @property
    def told(self) -> dict[str, str]:
        return {
            "core": self.parsed.core,
            "label": self.parsed.label,
            "newsletter": self.subscribables[0].name,
            "at": str(self.now.timestamp()),
            "tries": "0",
        }

    @property
    def note(self) -> str:
        return gettext(
            "You get a code by text message to confirm. Your provider may charge you for messages. Leave"
            " whenever you like: answer STOP."
        )


def read_number(channel: str, typed: str, options: Mapping[str, Any]) -> ParsedDestination:
    """Raises InvalidDestination."""
    read_by = {name: str(options[name]) for name in READ_BY if options.get(name)}
    return channels.get(channel).parse_destination({"phone": typed, **read_by})


class CodeForm(PageForm):
    code = forms.CharField(
        label=gettext_lazy("The code"),
        max_length=LONGEST_CODE,
        error_messages={"required": gettext_lazy("Please enter the six digits.")},
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}
        ),
    )
