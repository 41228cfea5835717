from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.contrib.auth import views
from django.contrib.auth.forms import PasswordResetForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy
from django.utils.translation import get_language
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminPasswordWidget

from common.clock import utcnow
from common.passwords import NewPasswordForm
from common.ports.site_mail import site_mail
from common.rates import OverLimit
from delivery.letters.mails import ADMIN
from feedletter_site.services.password_limits import ask_for_reset

TOO_OFTEN = "Too many attempts from your network. Try again in an hour."


class ResetForm(PasswordResetForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = "Your email address"
        self.fields["email"].widget = UnfoldAdminEmailInputWidget(
            attrs={"autocomplete": "email", "autofocus": True}
        )


class AdminPasswordForm(NewPasswordForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["new_password1"]
        field.widget = UnfoldAdminPasswordWidget(attrs=field.widget.attrs)


class OfAdmin:
    """Adds the admin's context, and headers that protect the secret in the URL."""

    request: HttpRequest

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]
        answer.headers["Referrer-Policy"] = "same-origin"
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        return {**admin.site.each_context(self.request), **context}


class AskForReset(views.PasswordResetView):
    """The response does not reveal whether the user exists."""

    whose: str
    too_often: Any

    def form_valid(self, form: Any) -> HttpResponse:
        try:
            # All admins read the mailbox page, so a link must not wait there.
            if site_mail().is_sent():
                ask_for_reset(
                    email=form.cleaned_data["email"],
                    whose=self.whose,
                    ip=str(self.request.META.get("REMOTE_ADDR", "")),
                    now=utcnow(),
                    language=get_language() or "",
                )
        except OverLimit:
            form.add_error(None, self.too_often)
            context = self.get_context_data(form=form)
            return self.render_to_response(context, status=HTTPStatus.TOO_MANY_REQUESTS)
        # Django's would send a mail.
        return HttpResponseRedirect(str(self.success_url))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(cannot_mail=not site_mail().is_sent(), **kwargs)


class Asked(OfAdmin, AskForReset):
    form_class = ResetForm
    template_name = "admin/password_reset/ask.html"
    success_url = reverse_lazy("admin_password_reset_done")
    title = "Forgotten password"
    whose = ADMIN
    too_often = TOO_OFTEN


class Told(OfAdmin, views.PasswordResetDoneView):
    template_name = "admin/password_reset/told.html"
    title = "Check your email"


class NewPassword(OfAdmin, views.PasswordResetConfirmView):
    form_class = AdminPasswordForm
    template_name = "admin/password_reset/choose.html"
    success_url = reverse_lazy("admin_password_reset_complete")
    title = "A new password"


class Done(OfAdmin, views.PasswordResetCompleteView):
    template_name = "admin/password_reset/done.html"
    title = "Password changed"
