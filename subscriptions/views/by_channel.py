"""The sign-up form of one newsletter, and what takes it, as its channel wants them."""

from django.http import HttpRequest, HttpResponse, QueryDict

from subscriptions.forms.phone import PhoneForm
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.models import Subscribable
from subscriptions.rules.origin import How
from subscriptions.subscribers.sign_up import is_by_code
from subscriptions.views.phone import take_phone_sign_up
from subscriptions.views.sign_up import take_sign_up


def form_of(newsletter: Subscribable, data: QueryDict | None = None, *, ip: str = "") -> SignUpForm:
    made = PhoneForm if is_by_code(newsletter) else SignUpForm
    return made(data, subscribables=[newsletter], ip=ip)


def take_form(request: HttpRequest, form: SignUpForm, how: How) -> HttpResponse:
    """What a valid one asks for."""
    if isinstance(form, PhoneForm):
        return take_phone_sign_up(request, form, how)
    return take_sign_up(request, form, how)
