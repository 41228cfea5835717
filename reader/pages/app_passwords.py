"""Passwords for apps: making one, which is shown once, and revoking them."""

from http import HTTPStatus

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.refused import Refused
from reader.models import Reader
from reader.pages.access import for_readers, surroundings
from reader.people.app_passwords import (
    LONGEST_APP,
    MAX_APP_PASSWORDS,
    active,
    make_app_password,
    revoke_app_password,
)
from reader.rules.order import LARGEST_KEY


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def app_passwords(request: HttpRequest, reader: Reader) -> HttpResponse:
    """What to type into which app, and the passwords there are. A POST makes one, or (`revoke`) ends one.

    A new one is in the answer itself: it is kept nowhere from where a redirect could show it.
    """
    made, problem = None, ""
    app = request.POST.get("app", "")
    if request.method == "POST":
        if "revoke" in request.POST:
            _revoke(reader, request.POST["revoke"])
            return HttpResponseRedirect(reverse("reader:app_passwords"))
        try:
            made = make_app_password(reader=reader, app=app, now=utcnow())
        except Refused:
            problem = gettext(
                "Give a name of at most %(characters)s characters, and have at most %(most)s passwords."
            ) % {"characters": LONGEST_APP, "most": MAX_APP_PASSWORDS}
    context = {
        **surroundings(reader),
        "section": "account",
        "made": made,
        "passwords": active(reader),
        "problem": problem,
        "app": "" if made else app,
        "longest": LONGEST_APP,
        "address": settings.SITE_URL + reverse("reader:greader_php", args=[""]),
        "site": settings.SITE_URL,
    }
    status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return render(request, "reader/app_passwords.html", context, status=status)


def _revoke(reader: Reader, text: str) -> None:
    """Raises Http404 for what is not one of theirs."""
    is_key = text.isascii() and text.isdigit() and int(text) <= LARGEST_KEY
    password = active(reader).filter(pk=int(text)).first() if is_key else None
    if password is None:
        raise Http404("There is no such password.")
    revoke_app_password(password=password, now=utcnow())
