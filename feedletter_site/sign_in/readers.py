"""Where people sign in who read here. Admins may, too; the tries are counted together with the admin's."""

from typing import Any

from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext

from feedletter_site.services.password_limits import tries_left
from reader.pages.access import policy_to_own_sites, reading_page


class ReaderSignInForm(AuthenticationForm):
    """Checks no password after too many wrong ones: then even the right one has to wait."""

    def clean(self) -> Any:
        if self.request is None or not tries_left(self.request, self.cleaned_data.get("username") or ""):
            raise ValidationError(gettext("Too many wrong passwords. Try again in an hour."), code="limited")
        return super().clean()


@method_decorator(reading_page, name="dispatch")  # type: ignore[arg-type]
class ReaderSignIn(views.LoginView):
    """The way in: by a password here, or (`own_site`) by one's own site."""

    form_class = ReaderSignInForm
    template_name = "reader/sign_in.html"
    next_page = "reader:all"
    redirect_authenticated_user = True

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        response = super().render_to_response(context, **kwargs)
        response.headers["Content-Security-Policy"] = policy_to_own_sites()
        return response


class ReaderSignOut(views.LogoutView):
    """The way out."""

    next_page = "reader_sign_in"
