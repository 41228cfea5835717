from http import HTTPStatus
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth import logout
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.clock import utcnow
from common.ports.hooks import site_mail
from reader.indieauth.discovery import profile_of
from reader.models import Follow, Reader
from reader.pages.access import ReaderFormPage, confirmed, for_readers, surroundings
from reader.pages.consent import scope_words
from reader.pages.forms import AppPasswordForm, EmailForm, ErasureForm, PicksForm, ReadingForm
from reader.pages.picks import makes_newsletters
from reader.people.personal_data import data_file
from reader.people.picks import address_of, open_picks
from reader.people.readers import leave
from reader.people.tokens import LONGEST_APP, active, ends_at, live_tokens, make_app_password, revoke
from reader.rules.order import LARGEST_KEY, number_in
from reader.rules.saving import EXAMPLES

MOST_SHOWN = 200
EMAIL, READING, PICKS, DISCONNECT = "email", "reading", "picks", "disconnect"


@for_readers
@require_safe
def clients(request: HttpRequest, reader: Reader) -> HttpResponse:
    words = scope_words()
    listed = [
        (token, [words[scope] for scope in token.scopes], ends_at(token) if token.client_id else None)
        for token in live_tokens(reader, utcnow())[:MOST_SHOWN]
    ]
    context = {
        **surroundings(reader),
        "section": "account",
        "clients": listed,
        "me": profile_of(reader),
        "is_revoked": "revoked" in request.GET,
    }
    return render(request, "reader/clients.html", context)


@for_readers
@require_POST
def revoke_client(request: HttpRequest, reader: Reader, pk: int) -> HttpResponse:
    now = utcnow()
    token = live_tokens(reader, now).filter(pk=min(pk, LARGEST_KEY)).first()
    if token is None:
        raise Http404("App not found.")
    revoke(token, now=now)
    return HttpResponseRedirect(f"{reverse('reader:clients')}?revoked")


class AppPasswords(ReaderFormPage):
    """The passwords. A POST makes one, or (`revoke`) revokes one."""

    template_name = "reader/app_passwords.html"
    section = "account"
    form_class = AppPasswordForm

    @method_decorator(confirmed(lambda given: "revoke" not in given, app="reader"))
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "revoke" in request.POST:
            key = number_in(request.POST["revoke"]) or 0
            password = active(self.reader).filter(pk=key).first()
            if password is None:
                raise Http404("App password not found.")
            revoke(password, now=utcnow())
            return redirect("reader:app_passwords")
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AppPasswordForm) -> HttpResponse:
        """Show the new password at once, as it is stored nowhere."""
        made = make_app_password(reader=self.reader, app=form.cleaned_data["app"], now=utcnow())
        return self.render_to_response(self.get_context_data(made=made, form=AppPasswordForm()))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            passwords=active(self.reader),
            longest=LONGEST_APP,
            address=settings.SITE_URL + reverse("reader:greader_php", args=[""]),
            site=settings.SITE_URL,
            **kwargs,
        )


@sensitive_post_parameters("password")
@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest, reader: Reader) -> HttpResponse:
    """A POST changes reading defaults, picks or the mail address, or forgets the identity of OIDC_URL."""
    user = reader.user
    identities = SocialAccount.objects.filter(user=user)
    if request.POST.get("act") == DISCONNECT:
        if user.has_usable_password():
            identities.delete()
        return HttpResponseRedirect(f"{reverse('reader:account')}?changed={DISCONNECT}#identity")
    act = request.POST.get("act")
    reading = ReadingForm(request.POST if act == READING else None, instance=reader)
    picks = PicksForm(request.POST if act == PICKS else None, instance=reader)
    given = None if act in (READING, PICKS) else posted(request)
    form = EmailForm(given, user=user, initial={"email": user.email})
    if reading.is_valid():
        reading.save()
        return HttpResponseRedirect(f"{reverse('reader:account')}?changed={READING}#reading")
    if picks.is_valid():
        open_picks(reader=picks.save(commit=False), now=utcnow())
        return HttpResponseRedirect(f"{reverse('reader:account')}?changed={PICKS}#picks")
    if form.is_valid():
        user.email = form.cleaned_data["email"]
        user.save(update_fields=["email"])
        return HttpResponseRedirect(f"{reverse('reader:account')}?changed={EMAIL}")
    context = {
        **surroundings(reader),
        "section": "account",
        "form": form,
        "reading": reading,
        "picks": picks,
        "picks_feed": address_of(reader, "xml") if reader.picks_key else "",
        "makes_newsletters": makes_newsletters(reader.user),
        "examples": EXAMPLES,
        "changed": request.GET.get("changed", ""),
        "microsub": request.build_absolute_uri(reverse("reader:microsub", args=[reader.slug])),
        "is_mailed": site_mail().is_sent(),
        "oidc_name": settings.OIDC_URL and settings.OIDC_NAME,
        "is_connected": identities.exists(),
    }
    return render(request, "reader/account.html", context, status=_status(reading, picks, form))


@for_readers
@require_safe
def data(request: HttpRequest, reader: Reader) -> StreamingHttpResponse:
    response = StreamingHttpResponse(data_file(reader, now=utcnow()), content_type="application/zip")
    response.headers["Content-Disposition"] = f'attachment; filename="{reader.slug}.zip"'
    return response


@sensitive_post_parameters("password")
@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def erase(request: HttpRequest, reader: Reader) -> HttpResponse:
    form = ErasureForm(posted(request), user=reader.user)
    if request.method == "POST" and form.is_valid():
        leave(reader=reader, now=utcnow())
        if not reader.user.is_staff:
            logout(request)
        return render(request, "reader/erased.html", {"is_staff": reader.user.is_staff})
    follows = Follow.objects.filter(channel__reader=reader).values("feed").distinct().count()
    context = {**surroundings(reader), "section": "account", "form": form, "follows": follows}
    return render(request, "reader/account_erase.html", context, status=_status(form))


def posted(request: HttpRequest) -> QueryDict | None:
    """Return form data; unlike `request.POST or None` this binds an empty POST, too."""
    return request.POST if request.method == "POST" else None


def _status(*forms: Any) -> int:
    return HTTPStatus.BAD_REQUEST if any(form.errors for form in forms) else HTTPStatus.OK
