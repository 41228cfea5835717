"""Where the keyboard stands when a form comes back."""

from django import forms


def focus_on_error(form: forms.Form) -> None:
    """The first field with an error takes the focus, also where no script runs."""
    wrong = next((name for name in form.fields if name in form.errors), "")
    if wrong:
        form.fields[wrong].widget.attrs["autofocus"] = True
