"""Protection against robots (templates/pages/_form_safety.html)."""

from typing import Any

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy

from common.clock import utcnow
from subscriptions.subscribers import antispam

LONGEST_TOKEN = 2000


class RobotProofForm(forms.Form):
    """In doubt it asks a question: then it is invalid and shown again."""

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

    def __init__(self, *args: Any, ip: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.ip = ip
        self.now = utcnow()
        self.asks = False

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors and not self.is_robot and not self._is_by_a_person(data):
            self.asks = True
            if data["reply"]:
                self.add_error("reply", gettext("That’s not the right answer. Here’s another question."))
            else:
                self.add_error(
                    "reply", gettext("Please answer one question, so that we know you’re a person.")
                )
            self.data = {**self.data.dict(), "reply": ""} if hasattr(self.data, "dict") else self.data
        return data

    @property
    def is_robot(self) -> bool:
        """Return whether the hidden field was filled in. If so, do nothing."""
        return bool(self.data.get("website"))

    @property
    def challenge(self) -> bool:
        return True

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
