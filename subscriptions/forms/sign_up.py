"""The sign-up forms: for one newsletter, and of one address for several."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy

from common.clock import utcnow
from common.ports import channels
from common.ports.channels import InvalidDestination
from subscriptions.models import Subscribable
from subscriptions.rules.sign_up import LONGEST_NAME, MOST_AT_ONCE
from subscriptions.subscribers import antispam

LONGEST_TOKEN = 2000


class SignUpForm(forms.Form):
    """An address, perhaps a name, and fields that tell people from programs (see the template
    pages/_form_safety.html).

    `subscribables` are the newsletters that are asked for. When the form is in doubt it asks a question:
    then it is not valid, and is shown once more.
    """

    email = forms.CharField(
        label=gettext_lazy("Your e-mail address"),
        max_length=320,
        error_messages={"required": gettext_lazy("Please type your e-mail address.")},
        widget=forms.EmailInput(attrs={"autocomplete": "email", "placeholder": "you@example.org"}),
    )
    name = forms.CharField(
        label=gettext_lazy("Your name"),
        required=False,
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    website = forms.CharField(
        label=gettext_lazy("Leave this empty"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "tabindex": "-1"}),
    )
    reply = forms.CharField(
        required=False,
        max_length=antispam.LONGEST_REPLY,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "numeric"}),
    )

    def __init__(
        self, *args: Any, subscribables: Sequence[Subscribable], ip: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.subscribables = subscribables
        self.ip = ip
        self.now = utcnow()
        self.asks = False

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        try:
            channels.get(self.channel).parse_destination({"email": email})
        except InvalidDestination as error:
            said = gettext("This does not look like an e-mail address. Please check it.")
            raise forms.ValidationError(said) from error
        return email

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors and not self.is_robot and not self._is_by_a_person(data):
            self.asks = True
            if data["reply"]:
                self.add_error("reply", gettext("That is not the answer. Here is another question."))
            else:
                self.add_error("reply", gettext("One question, so that we know you are a person."))
            # A wrong answer does not stand under the next question.
            self.data = {**self.data.dict(), "reply": ""} if hasattr(self.data, "dict") else self.data
        return data

    @property
    def channel(self) -> str:
        return self.subscribables[0].channel if self.subscribables else "email"

    @property
    def is_robot(self) -> bool:
        """Whether the hidden field was filled in, which people do not see. Then nothing must happen."""
        return bool(self.data.get("website"))

    @property
    def challenge(self) -> bool:
        """Whether the browser is to solve a sum first."""
        return any(each.challenge for each in self.subscribables)

    @property
    def consent(self) -> str:
        """What the reader agrees to by pressing the button, word for word."""
        return f"{self.button}. {self.note}"

    @property
    def button(self) -> str:
        if len(self.subscribables) == 1:
            return gettext("Subscribe to %(newsletter)s") % {"newsletter": self.subscribables[0]}
        return gettext("Subscribe")

    @property
    def note(self) -> str:
        return gettext("You get one mail to confirm. Leave whenever you like, with one tap.")

    @cached_property
    def fresh_shown(self) -> str:
        """The hidden field's value: when the form was shown. A form that comes back is shown anew."""
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
        # A form on another site does not say when it was shown, and may pass: the limits hold for it, too.
        if (shown := self._hidden("shown")) and not antispam.was_read(shown, now=self.now):
            return False
        return not self.challenge or antispam.is_solved(self._hidden("solution"), now=self.now)

    def _hidden(self, name: str) -> str:
        return str(self.data.get(name, ""))[:LONGEST_TOKEN]


class NameForm(forms.Form):
    """How letters address a subscriber."""

    name = forms.CharField(
        label=gettext_lazy("Your name"),
        required=False,
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class SeveralForm(SignUpForm):
    """`subscribables` are the newsletters that the reader chose: none at first."""

    def clean(self) -> dict[str, Any]:
        if not self.subscribables:
            self.add_error(None, gettext("Choose at least one newsletter."))
        elif len(self.subscribables) > MOST_AT_ONCE:
            self.add_error(
                None, gettext("Choose at most %(most)s newsletters at a time.") % {"most": MOST_AT_ONCE}
            )
        return super().clean()

    @property
    def button(self) -> str:
        return gettext("Subscribe to what I have chosen")
