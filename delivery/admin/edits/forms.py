"""The form of an issue's own words."""

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from subscriptions.rules.edits import LONGEST_NOTE, LONGEST_SUBJECT, Wording

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

    @property
    def wording(self) -> Wording:
        return Wording(**self.cleaned_data)
