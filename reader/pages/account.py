"""The reader's account: address, password, taking all data along, and leaving."""

from http import HTTPStatus
from typing import Any

from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from common.clock import utcnow
from common.ports.site_mail import site_mail
from reader.models import Follow, Reader
from reader.pages.access import for_readers, surroundings
from reader.pages.forms import EmailForm, ErasureForm, ReadingForm
from reader.people.personal_data import data_file
from reader.people.readers import leave
from reader.rules.saving import EXAMPLES

EMAIL, PASSWORD, READING = "email", "password", "reading"


@sensitive_post_parameters("password")
@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest, reader: Reader) -> HttpResponse:
    """What belongs to the reader, and the ways to it; a POST changes the mail address."""
    user = reader.user
    is_reading = request.POST.get("act") == READING
    reading = ReadingForm(request.POST if is_reading else None, instance=reader)
    if is_reading and reading.is_valid():
        reading.save()
        return HttpResponseRedirect(f"{reverse('reader:account')}?changed={READING}#reading")
    given = None if is_reading else posted(request)
    form = EmailForm(given, user=user, initial={"email": user.email})
    if given is not None and form.is_valid():
        user.email = form.cleaned_data["email"]
        user.save(update_fields=["email"])
        return _back(EMAIL)
    context = {
        **surroundings(reader),
        "section": "account",
        "form": form,
        "reading": reading,
        "examples": EXAMPLES,
        "changed": request.GET.get("changed", ""),
        "microsub": request.build_absolute_uri(reverse("reader:microsub", args=[reader.slug])),
        "is_mailed": site_mail().is_sent(),
    }
    return render(request, "reader/account.html", context, status=_status(reading if is_reading else form))


@sensitive_post_parameters("old_password", "new_password1", "new_password2")
@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Another password. Who was signed in elsewhere is signed out there."""
    made: Any = PasswordChangeForm if reader.user.has_usable_password() else SetPasswordForm
    form = made(reader.user, posted(request), label_suffix="")
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, reader.user)
        return _back(PASSWORD)
    context = {**surroundings(reader), "section": "account", "form": form}
    return render(request, "reader/account_password.html", context, status=_status(form))


@for_readers
@require_safe
def data(request: HttpRequest, reader: Reader) -> StreamingHttpResponse:
    """All that is kept about the reader, to take along."""
    response = StreamingHttpResponse(data_file(reader, now=utcnow()), content_type="application/zip")
    response.headers["Content-Disposition"] = f'attachment; filename="{reader.slug}.zip"'
    return response


@sensitive_post_parameters("password")
@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def erase(request: HttpRequest, reader: Reader) -> HttpResponse:
    """GET says what goes and what stays, POST erases."""
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
    """What a form is given: an empty one that was sent is not one that was not."""
    return request.POST if request.method == "POST" else None


def _back(changed: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('reader:account')}?changed={changed}")


def _status(form: Any) -> int:
    return HTTPStatus.BAD_REQUEST if form.errors else HTTPStatus.OK
