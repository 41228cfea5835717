"""The form that the page of an issue ends with."""

from django.template.loader import render_to_string

from subscriptions.forms import SignUpForm
from subscriptions.models import Subscribable


def sign_up_form(newsletter: Subscribable) -> str:
    """Its html. It may be kept for as long as a page may."""
    context = {"newsletter": newsletter, "form": SignUpForm(subscribables=[newsletter]), "is_below": True}
    return render_to_string("pages/_form.html", context)
