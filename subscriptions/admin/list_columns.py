from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminSelectWidget

from common.admin.model_admin import PREFIX
from common.clock import utcnow
from common.parts import Part, Table, Template
from common.text import shortened
from subscriptions.admin.list_import_panels import understood
from subscriptions.lists.importer import question_words
from subscriptions.lists.uploads import explain, first_lines
from subscriptions.models import ListImport
from subscriptions.rules.lists.encodings import encoding_words
from subscriptions.rules.lists.headings import SEVERAL, Heading
from subscriptions.rules.lists.judging import IGNORED, Judgement

AS_IT_IS = "as it is"
SAMPLES, LONGEST_SAMPLE = 3, 40
COLUMN_MEANINGS = (
    (AS_IT_IS, "Detect automatically"),
    (IGNORED, "not used"),
    ("suppressed", "anyone with a value here must not be emailed"),
    ("unsubscribed", "anyone with a value here has unsubscribed"),
    ("subscribed", "whether they want it: people with “no” or no value have unsubscribed"),
    ("verified", "whether they confirmed: people with “no” or no value haven’t"),
    ("notes", "notes: who has left or bounced by its words gets nothing"),
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
MEANINGS = {**dict(COLUMN_MEANINGS), **_OTHERS}
WORD_MEANINGS = (
    ("confirmed", "gets the newsletter"),
    ("unconfirmed", "hasn’t confirmed"),
    ("unsubscribed", "has unsubscribed"),
    ("suppressed", "must not be emailed"),
)
DATE_ORDERS = (
    ("", "I don’t know: dates that could be two days are left out"),
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
    asked = {question.name for question in guessed.questions}
    for place, name in enumerate(row.names):
        values = (line[place].strip() for line in lines if place < len(line))
        at_place = (meaning for meaning, at in (*guessed.places, *guessed.blocks) if at == place)
        meaning = "" if name in asked else next(at_place, IGNORED)
        if name == (row.findings or {}).get("addresses"):
            meaning = "email"
        columns.append(ListColumn(name, meaning, tuple(filter(None, values))))
    return columns


def columns_table(row: ListImport) -> Part:
    """Show each column's meaning while somebody decides about the list."""
    if row.state not in row.WAITING or not row.names:
        return ""
    rows = [
        (shortened(column.name, LONGEST_SAMPLE), MEANINGS[column.meaning], column.shown_samples or "empty")
        for column in list_columns(row, understood(row))
        if column.meaning
    ]
    is_asking = row.state == row.State.ASKING and "addresses" not in (row.findings or {})
    when = "once the questions are answered" if is_asking else "above"
    note = f"If a meaning is wrong, use “Change columns” {when}."
    return (Table(("column", "meaning", "for example"), rows), note)


class ColumnsForm(forms.Form):
    """Questions about a list, without initial values; or, if there are none, all its columns."""

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.row = ListImport.objects.get(pk=keys[0])
        self.names: dict[str, str] = {}
        guessed, findings = understood(self.row), self.row.findings or {}
        if encodings := findings.get("encodings"):
            choices = [(name, f"{name}: {', '.join(texts)}") for name, texts in encodings]
            text = encoding_words(findings["foreign"], ())
            self._ask("encoding", "The names are right as", choices, text.partition(" Save")[0])
            self.fields["encoding"].widget = UnfoldAdminRadioSelectWidget(choices=choices)
            return
        for place, question in guessed.judged:
            if question.words:
                for word in question.words:
                    self._ask(f"word-{len(self.names)}", f"“{word}” in “{question.name}”", WORD_MEANINGS)
                    self.names[f"word-{len(self.names)}"] = word
            elif question.must_ask:
                self._ask(
                    f"column-{place}",
                    f"“{question.name}”",
                    meanings_of(question),
                    question_words(question, MEANINGS),
                )
                self.names[f"column-{place}"] = question.name
        if not guessed.questions:
            self._add_columns(guessed)
        self.fields["dates"] = forms.ChoiceField(
            label="Dates such as 3/4/2026 have",
            choices=DATE_ORDERS,
            required=False,
            initial=self.row.dates or guessed.program.dates,
            widget=UnfoldAdminSelectWidget(),
        )

    def _ask(self, key: str, label: str, choices: Iterable[tuple[str, str]], text: str = "") -> None:
        self.fields[key] = forms.ChoiceField(
            label=shortened(label, LONGEST_SAMPLE),
            choices=(("", "– please choose –"), *choices),
            help_text=text,
            widget=UnfoldAdminSelectWidget(),
        )

    def _add_columns(self, guessed: Heading) -> None:
        for place, column in enumerate(list_columns(self.row, guessed)):
            guess = column.meaning if column.meaning in dict(COLUMN_MEANINGS) else AS_IT_IS
            shown = f"For example: {column.shown_samples}." if column.samples else "Empty in the first lines."
            self.names[f"column-{place}"] = column.name
            self.fields[f"column-{place}"] = forms.ChoiceField(
                label=f"“{shortened(column.name, LONGEST_SAMPLE)}” is",
                choices=COLUMN_MEANINGS,
                initial=guess,
                help_text=shown,
                widget=UnfoldAdminSelectWidget(),
            )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        given = {
            kind: {
                name: data[key] for key, name in self.names.items() if key.startswith(kind) and key in data
            }
            for kind in ("column", "word")
        }
        meanings = {**(self.row.meanings or {}), **given["column"]}
        meanings = {name: meaning for name, meaning in meanings.items() if meaning != AS_IT_IS}
        for meaning in {*meanings.values()} - {IGNORED, *SEVERAL}:
            if list(meanings.values()).count(meaning) > 1:
                raise ValidationError(f"Only one column can be {dict(COLUMN_MEANINGS)[meaning]}.")
        return {
            "meanings": meanings,
            "statuses": given["word"],
            "dates": data.get("dates", self.row.dates),
            "encoding": data.get("encoding", ""),
        }


def meanings_of(question: Judgement) -> list[tuple[str, str]]:
    """Return the choices, each with how many people would get the newsletter by it."""
    if not question.column.after("")["confirmed"]:
        return list(COLUMN_MEANINGS[1:])
    return [
        (meaning, f"{words} ({question.column.after(meaning)['confirmed']:,} get the newsletter)")
        for meaning, words in COLUMN_MEANINGS[1:]
    ]


def questions(row: ListImport, request: HttpRequest) -> Part:
    """Show what must be answered before the list can be imported, as a form."""
    if row.state != row.State.ASKING or not request.user.has_perm("subscriptions.change_listimport"):
        return ""
    context = {
        "row": row,
        "action": reverse("admin:subscriptions_listimport_changelist"),
        "form": ColumnsForm([row.pk], prefix=PREFIX),
    }
    return Template("admin/subscriptions/list_questions.html", context, request)


def explain_columns(request: HttpRequest, keys: list[int], **given: Any) -> str:
    explain(ListImport.objects.get(pk=keys[0]), now=utcnow(), **given)
    return "Thank you. The file is being read again. Nothing changes until you import it."
