"""Admins may sign in here, too; wrong passwords count for both sign-ins."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import login, views
from django.contrib.auth.forms import AuthenticationForm, PasswordResetForm
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.passwords import NewPasswordForm
from common.rates import DAY, Limit, OverLimit, check_rows, count_rows
from delivery.letters.mails import READER
from feedletter_site.services.password_limits import tries_left
from feedletter_site.sign_in.password_reset import AskForReset
from reader.models import Reader
from reader.pages.access import policy_to_own_sites, reading_page
from reader.pages.forms import NewcomerForm
from reader.pages.people import MODEL_BACKEND, admitted
from reader.people.readers import OPEN, add_reader
from subscriptions.forms.robots import RobotProofForm

NEWCOMERS_OF_NETWORK = Limit("reader join ip", 5, DAY)
# Limits floods from many networks.
NEWCOMERS = Limit("reader join", 500, DAY)
ANYBODY = "anybody"


class ReaderSignInForm(AuthenticationForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    def clean(self) -> Any:
        if self.request is None or not tries_left(self.request, self.cleaned_data.get("username") or ""):
            raise ValidationError(gettext("Too many wrong passwords. Try again in an hour."), code="limited")
        return super().clean()


@method_decorator(reading_page, name="dispatch")
class ReaderSignIn(views.LoginView):
    form_class = ReaderSignInForm
    template_name = "reader/sign_in.html"
    next_page = "reader:all"
    redirect_authenticated_user = True

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        response = super().render_to_response(context, **kwargs)
        response.headers["Content-Security-Policy"] = policy_to_own_sites()
        return response

    def get_redirect_url(self) -> str:  # type: ignore[override] # the stubs are of a later Django
        """Users of the admin must sign in there."""
        url = super().get_redirect_url()
        return "" if urlsplit(url).path.startswith(reverse("admin:index")) else url

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(is_open=settings.READER == OPEN, **kwargs)


class ReaderSignOut(views.LogoutView):
    next_page = "reader_sign_in"


class JoinForm(NewcomerForm, RobotProofForm):
    pass


@sensitive_post_parameters("password1")
@reading_page
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """Require READER=open."""
    if settings.READER != OPEN:
        raise Http404("You need an invitation to read here.")
    if request.user.is_authenticated:
        return HttpResponseRedirect(reverse("reader:begin"))
    ip = str(request.META.get("REMOTE_ADDR", ""))
    form = JoinForm(request.POST or None, ip=ip)
    status = 200
    if request.method == "POST":
        if form.is_robot:
            return HttpResponseRedirect(reverse("reader_sign_in"))
        try:
            reader = admitted(form, lambda **given: _join(ip, **given))
        except OverLimit:
            form.add_error(None, gettext("Too many people have joined today. Please try again tomorrow."))
            reader, status = None, 429
        if reader is not None:
            login(request, reader.user, MODEL_BACKEND)
            return HttpResponseRedirect(reverse("reader:all"))
        status = status if status == 429 else 400
    return render(request, "reader/begin.html", {"form": form}, status=status)


def _join(ip: str, **given: Any) -> Reader:
    """Count only successful registrations. Raises OverLimit."""
    now = utcnow()
    with transaction.atomic():
        checked = check_rows([*NEWCOMERS_OF_NETWORK.by_network(ip), (NEWCOMERS, ANYBODY)], now)
        reader = add_reader(now=now, **given)
        count_rows(checked)
    return reader


class ReaderResetForm(PasswordResetForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.fields["email"].label = gettext_lazy("Your email address")


@method_decorator(reading_page, name="dispatch")
class ReaderReset(AskForReset):
    form_class = ReaderResetForm
    template_name = "reader/password_reset.html"
    success_url = reverse_lazy("reader_password_reset_done")
    whose = READER
    too_often = gettext_lazy("Too many attempts from your network. Please try again in an hour.")


@method_decorator(reading_page, name="dispatch")
class ReaderResetTold(views.PasswordResetDoneView):
    template_name = "reader/password_reset_told.html"


@method_decorator(reading_page, name="dispatch")
class ReaderNewPassword(views.PasswordResetConfirmView):
    form_class = NewPasswordForm
    template_name = "reader/password.html"
    success_url = reverse_lazy("reader_sign_in")
