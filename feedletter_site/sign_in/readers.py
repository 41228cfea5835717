"""Where people sign in who read here. Admins may, too; the tries are counted together with the admin's."""

from typing import Any

from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext

from feedletter_site.services.password_limits import tries_left
from reader.pages.access import POLICY
from reader.people.readers import OFF


class ReaderSignInForm(AuthenticationForm):
    """Checks no password after too many wrong ones: then even the right one has to wait."""

    def clean(self) -> Any:
        if self.request is None or not tries_left(self.request, self.cleaned_data.get("username") or ""):
            raise ValidationError(gettext("Too many wrong passwords. Try again in an hour."), code="limited")
        return super().clean()


class ReaderSignIn(views.LoginView):
    """The way in."""

    form_class = ReaderSignInForm
    template_name = "reader/sign_in.html"
    next_page = "reader:all"
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if settings.READER == OFF:
            raise Http404("Reading is switched off.")
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        answer.headers["Content-Security-Policy"] = POLICY
        return answer


class ReaderSignOut(views.LogoutView):
    """The way out."""

    next_page = "reader_sign_in"
