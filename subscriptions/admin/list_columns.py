from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget

from common.admin.html import html_table, paragraph
from common.clock import utcnow
from common.text import shortened
from subscriptions.admin.list_import_panels import understood
from subscriptions.lists.importer import concerns
from subscriptions.lists.uploads import explain, first_lines
from subscriptions.models import ListImport
from subscriptions.rules.lists.headings import IGNORED, SEVERAL, Heading

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
# Meanings that known programs give, and nobody can choose.
_OTHERS = {
    "bounced": "anyone with a value here must not be emailed",
    "wants": "whether they want it",
    "declines": "anyone with “yes” has unsubscribed",
    "confirms": "whether they confirmed",
}
_NOT_CLEAR = "may mark people who must not be emailed: say what it means"
DATE_ORDERS = (
    ("", "I don’t know: dates that could be two days are refused"),
    ("dmy", "the day first: 3/4/2026 is 3 April"),
    ("mdy", "the month first: 3/4/2026 is 4 March"),
)


@dataclass(frozen=True, slots=True)
class ListColumn:
    """Column of an uploaded list. `meaning`: a key of COLUMN_MEANINGS or of a program, or "" if unclear."""

    name: str
    meaning: str
    samples: tuple[str, ...]

    @property
    def shown_samples(self) -> str:
        return " · ".join(shortened(value, LONGEST_SAMPLE) for value in self.samples)


def list_columns(row: ListImport, guessed: Heading) -> list[ListColumn]:
    """Return the columns with their guessed meanings and first values."""
    lines, columns = first_lines(row, SAMPLES), []
    for place, name in enumerate(row.names):
        values = (line[place].strip() for line in lines if place < len(line))
        at_place = (meaning for meaning, at in (*guessed.places, *guessed.blocks) if at == place)
        meaning = "" if name in guessed.questions else next(at_place, IGNORED)
        if name == (row.findings or {}).get("addresses"):
            meaning = "email"
        columns.append(ListColumn(name, meaning, tuple(filter(None, values))))
    return columns


def columns_table(row: ListImport) -> SafeString | str:
    """Show each column's meaning while somebody decides about the list."""
    if row.state not in row.WAITING or not row.names:
        return ""
    words = {**dict(COLUMN_MEANINGS), **_OTHERS, "": _NOT_CLEAR}
    rows = (
        (shortened(column.name, LONGEST_SAMPLE), words[column.meaning], column.shown_samples or "empty")
        for column in list_columns(row, understood(row))
    )
    note = paragraph("If a meaning is wrong, use “Change columns” above.")
    return format_html("{}{}", html_table(("column", "meaning", "for example"), rows), note)


class ColumnsForm(forms.Form):
    """Required fields have no initial value."""

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.row = ListImport.objects.get(pk=keys[0])
        guessed = understood(self.row)
        unread = dict(guessed.unread)
        for place, column in enumerate(list_columns(self.row, guessed)):
            name, shown, is_question = column.name, column.shown_samples, not column.meaning
            guess = column.meaning if column.meaning in dict(COLUMN_MEANINGS) else AS_IT_IS
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
