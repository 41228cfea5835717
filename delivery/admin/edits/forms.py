"""The form of an issue's own words."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from subscriptions.rules.edits import LONGEST_NOTE, LONGEST_SUBJECT, Wording

# The form that all buttons of a next issue's or a draft's page send, so that no button loses what was typed.
EDIT_FORM = "fl-edit"
MARKDOWN = "Plain text or Markdown: *italic*, **bold**, [a link](https://example.org)."


class WordingForm(forms.Form):
    """Subject and notes; all may be empty."""

    subject = forms.CharField(
        max_length=LONGEST_SUBJECT,
        required=False,
        widget=UnfoldAdminTextInputWidget(),
        help_text="Empty: the newsletter’s usual one.",
    )
    note_top = forms.CharField(
        label="Note above the posts",
        max_length=LONGEST_NOTE,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
        help_text=MARKDOWN,
    )
    note_foot = forms.CharField(
        label="Note below the posts",
        max_length=LONGEST_NOTE,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, form_id: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if form_id:
            for field in self.fields.values():
                field.widget.attrs["form"] = form_id

    @property
    def wording(self) -> Wording:
        return Wording(**self.cleaned_data)
