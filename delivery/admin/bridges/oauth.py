"""Redirects to a service for authorisation, and back to the form if it refuses."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import admin
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse

from channels.oauth import NotConnected
from common.admin.refusals import refusal_sentence
from common.clock import utcnow
from common.ports.channels import InvalidDestination
from common.secrets import decrypt, encrypt
from delivery.admin.bridges.forms import DestinationForm
from delivery.bridges.handshake import send_to_service

IN_SESSION = "bridges_begun"
# Open windows per session.
MOST_BEGUN = 4
LASTS = timedelta(minutes=10)


def new_token() -> str:
    return secrets.token_urlsafe(32)


def keep_begun(session: SessionBase, token: str, values: Mapping[str, Any], *, now: datetime) -> None:
    """Store JSON-serializable values."""
    entry = [_digest(token), (now + LASTS).timestamp(), encrypt({"values": json.dumps(values)})]
    session[IN_SESSION] = [*session.get(IN_SESSION, []), entry][-MOST_BEGUN:]


def look_up_begun(session: SessionBase, token: str, *, now: datetime) -> dict[str, Any] | None:
    """Return the stored values, or None if missing or expired."""
    found = None
    for digest, ends, sealed in session.get(IN_SESSION, []):
        # Compares all, so that timing reveals nothing.
        if hmac.compare_digest(digest, _digest(token)) and now.timestamp() < ends:
            found = sealed
    try:
        return dict(json.loads(decrypt(found)["values"])) if found else None
    except ValueError:
        return None


def take_begun(session: SessionBase, token: str, *, now: datetime) -> dict[str, Any] | None:
    """Remove the stored values and return them. Saves the session at once."""
    found = look_up_begun(session, token, now=now)
    session[IN_SESSION] = [entry for entry in session.get(IN_SESSION, []) if entry[0] != _digest(token)]
    session.save()
    return found


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


F = TypeVar("F", bound=DestinationForm)
BACK_PAGE = "bridge_connected"
# URL parameter for what was typed before the service refused.
TYPED = "typed"


def return_url() -> str:
    """Return the redirect URI that applications register at the service."""
    return f"{settings.SITE_URL}{reverse(BACK_PAGE)}"


def lead_there(
    request: HttpRequest, form: DestinationForm, *, back: str, then: Mapping[str, Any]
) -> HttpResponse | None:
    """Return a page that redirects to the service, or None if refused; the form shows the reason.

    `back` is the form's URL, `then` the state for the callback. The form must be valid.
    """
    oauth, now, state = form.oauth, utcnow(), new_token()
    try:
        if oauth is None:
            raise NotConnected(f"{form.kind.label} cannot be asked.")
        _refuse_other_address(request, oauth.service)
        given = form.known_before()
        authorisation, app = send_to_service(
            oauth, given, app=form.chosen_app(), return_url=return_url(), state=state, now=now
        )
    except (InvalidDestination, NotConnected) as error:
        form.refuse(error)
        return None
    begun = {
        "kind": form.kind.key,
        "app": app,
        "kept": dict(authorisation.kept),
        "typed": form.typed_besides(),
        "words": form.words,
        "back": back,
        **then,
    }
    keep_begun(request.session, state, begun, now=now)
    place = oauth.known_as(given)
    context = {
        **admin.site.each_context(request),
        "title": f"Allow access at {place}",
        "place": place,
        "url": authorisation.url,
        "back": back,
    }
    return TemplateResponse(request, "admin/delivery/bridge_leaving.html", context)


def _refuse_other_address(request: HttpRequest, service: str) -> None:
    """Session cookies belong to one host: from another, the user would return without a session."""
    if request.get_host() != urlsplit(settings.SITE_URL).netloc:
        raise NotConnected(
            f"{service} leads back to {settings.SITE_URL}, but you opened {request.get_host()}. Open the"
            " admin there, and press Connect."
        )


def lead_back(request: HttpRequest, begun: Mapping[str, Any], error: Exception) -> HttpResponse:
    token = new_token()
    kept = {"words": begun["words"], "error": refusal_sentence(error)}
    keep_begun(request.session, token, kept, now=utcnow())
    glue = "&" if "?" in begun["back"] else "?"
    return HttpResponseRedirect(f"{begun['back']}{glue}{urlencode({TYPED: token})}")


def form_again(request: HttpRequest, make: Callable[[QueryDict], F]) -> F | None:
    """Return the form as before the service refused, or None."""
    kept = look_up_begun(request.session, request.GET.get(TYPED, ""), now=utcnow())
    if request.method == "POST" or kept is None or "error" not in kept:
        return None
    words = QueryDict(mutable=True)
    for name, values in kept["words"].items():
        words.setlist(name, values)
    form = make(words)
    form.is_valid()
    form.refuse(InvalidDestination(kept["error"]))
    return form
