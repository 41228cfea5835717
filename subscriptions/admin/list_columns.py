from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminSelectWidget

from common.clock import utcnow
from common.text import shortened
from subscriptions.admin.list_import_panels import understood
from subscriptions.lists.importer import concerns
from subscriptions.lists.uploads import explain, first_lines
from subscriptions.models import ListImport
from subscriptions.rules.lists.headings import IGNORED, SEVERAL

AS_IT_IS = "as it is"
SAMPLES, LONGEST_SAMPLE = 3, 40
COLUMN_MEANINGS = (
    (AS_IT_IS, "Detect automatically"),
    (IGNORED, "not used"),
    ("suppressed", "anyone with a value here must not be emailed"),
    ("unsubscribed", "anyone with a value here has unsubscribed"),
    ("subscribed", "whether they want it: people with “no” or no value have unsubscribed"),
    ("verified", "whether they confirmed: people with “no” or no value haven’t"),
    ("email", "the address"),
    ("name", "the name"),
    ("first", "the first name"),
    ("last", "the last name"),
    ("status", "the status"),
    ("language", "the language"),
    ("tags", "tags, with commas between them"),
    ("added", "when they signed up"),
    ("confirmed", "when they confirmed"),
    ("left", "when they left"),
    ("consent_at", "when they agreed"),
    ("consent_how", "how they agreed"),
    ("consent_words", "the words they agreed to"),
    ("consent_ip", "the internet address they agreed from"),
    ("upstream_id", "the number in the old Feedletter"),
)
DATE_ORDERS = (
    ("", "I don’t know: dates that could be two days are refused"),
    ("dmy", "the day first: 3/4/2026 is 3 April"),
    ("mdy", "the month first: 3/4/2026 is 4 March"),
)


class ColumnsForm(forms.Form):
    """Required fields have no initial value."""

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.row = ListImport.objects.get(pk=keys[0])
        guessed, lines = understood(self.row), first_lines(self.row, SAMPLES)
        unread = dict(guessed.unread)
        for place, name in enumerate(self.row.names):
            values = filter(None, (line[place].strip() for line in lines if place < len(line)))
            shown = " · ".join(shortened(value, LONGEST_SAMPLE) for value in values)
            is_question = name in guessed.questions
            at_place = (meaning for meaning, at in (*guessed.places, *guessed.blocks) if at == place)
            meaning = next(at_place, IGNORED)
            if name == (self.row.findings or {}).get("addresses"):
                meaning = "email"
            guess = meaning if meaning in dict(COLUMN_MEANINGS) else AS_IT_IS
            self.fields[f"column-{place}"] = forms.ChoiceField(
                label=f"“{shortened(name, LONGEST_SAMPLE)}” is",
                choices=(("", "– please choose –"), *COLUMN_MEANINGS[1:]) if is_question else COLUMN_MEANINGS,
                initial="" if is_question else guess,
                help_text=" ".join(
                    filter(
                        None,
                        (
                            f"For example: {shown}." if shown else "Empty in the first lines.",
                            concerns(name, unread[place]) if is_question and place in unread else "",
                        ),
                    )
                ),
                widget=UnfoldAdminSelectWidget(),
            )
        self.fields["dates"] = forms.ChoiceField(
            label="Dates such as 3/4/2026 have",
            choices=DATE_ORDERS,
            required=False,
            initial=self.row.dates or guessed.program.dates,
            widget=UnfoldAdminSelectWidget(),
        )

    def clean(self) -> dict[str, Any]:
        meanings = {
            name: self.cleaned_data[f"column-{place}"]
            for place, name in enumerate(self.row.names)
            if self.cleaned_data.get(f"column-{place}", AS_IT_IS) != AS_IT_IS
        }
        for meaning in {*meanings.values()} - {IGNORED, *SEVERAL}:
            if list(meanings.values()).count(meaning) > 1:
                raise ValidationError(f"Only one column can be {dict(COLUMN_MEANINGS)[meaning]}.")
        return {"meanings": meanings, "dates": self.cleaned_data.get("dates", "")}


def explain_columns(request: HttpRequest, keys: list[int], *, meanings: dict[str, str], dates: str) -> str:
    explain(ListImport.objects.get(pk=keys[0]), meanings=meanings, dates=dates, now=utcnow())
    return "Thank you. The file is being read again. Nothing changes until you import it."
