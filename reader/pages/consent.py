"""Consent page for a client (IndieAuth §5.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.encoding import iri_to_uri
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.rates import Limit, count_within
from common.refused import Refused
from reader.indieauth.discovery import issuer, profile_of
from reader.indieauth.endpoints import exchange_for_name
from reader.indieauth.grants import ClientPage, make_code, read_client
from reader.media.pictures import media_path
from reader.models import Reader
from reader.pages.access import confirmed, for_readers, policy_with_form_to
from reader.rules import parameters
from reader.rules.identity import client_id_of, is_challenge, may_return_to, origin_of

PAGES = Limit("indieauth-asks", 20)
LONGEST_STATE = 2_000


class CannotLeadBack(Refused):
    """Unconfirmed redirect address, so the error is shown here."""

    status = HTTPStatus.BAD_REQUEST


class TooOften(CannotLeadBack):
    """Each request may fetch a page from another server."""

    status = HTTPStatus.TOO_MANY_REQUESTS


@dataclass(frozen=True, slots=True)
class Asked:
    """A `problem` (RFC 6749 §4.1.2.1) redirects back at once."""

    client: ClientPage
    redirect_uri: str
    state: str
    challenge: str
    scopes: tuple[str, ...]
    problem: str = ""

    def answer(self, said: Mapping[str, str]) -> HttpResponse:
        parts = urlsplit(self.redirect_uri)
        state = {"state": self.state} if self.state else {}
        # RFC 9207: `iss` tells the client which server answered.
        query = "&".join(filter(None, (parts.query, urlencode({**said, **state, "iss": issuer()}))))
        # HttpResponseRedirect refuses schemes of apps; `may_return_to` has checked this one.
        url = iri_to_uri(urlunsplit(parts._replace(query=query)))
        return HttpResponse(status=HTTPStatus.FOUND, headers={"Location": url})


@csrf_exempt
def authorize(request: HttpRequest) -> HttpResponseBase:
    """Show the consent page. A POST exchanges a code for the profile."""
    return exchange_for_name(request) if request.method in ("POST", "OPTIONS") else ask(request)


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
@confirmed(lambda given: given.get("act") != "deny", before_page=True)
def ask(request: HttpRequest, reader: Reader) -> HttpResponse:
    """A POST is the decision on the same query, which is checked again."""
    try:
        asked = _asked(request, reader)
    except CannotLeadBack as error:
        return render(request, "reader/consent_refused.html", {"details": str(error)}, status=error.status)
    if asked.problem:
        return asked.answer({"error": asked.problem})
    if request.method == "POST":
        if request.POST.get("act") != "allow":
            return asked.answer({"error": "access_denied"})
        code = make_code(
            reader=reader,
            client=asked.client,
            redirect_uri=asked.redirect_uri,
            challenge=asked.challenge,
            scopes=set(request.POST.getlist("scope")) & set(asked.scopes),
            now=utcnow(),
        )
        return asked.answer({"code": code})
    known = parameters.known_scopes(asked.scopes)
    words = scope_words()
    context = {
        "reader": reader,
        "me": profile_of(reader),
        "client": asked.client,
        "logo": media_path(asked.client.logo) if asked.client.logo else "",
        "back": urlsplit(asked.redirect_uri).netloc or asked.redirect_uri,
        "leads_elsewhere": origin_of(asked.redirect_uri) != origin_of(asked.client.client_id),
        "scopes": [(scope, words[scope]) for scope in known],
        "others": [scope for scope in asked.scopes if scope not in known],
        "query": request.META.get("QUERY_STRING", ""),
    }
    response = render(request, "reader/consent.html", context)
    target = origin_of(asked.redirect_uri) or ""
    # CSP source expressions have no IPv6 addresses (CSP 3 §2.3.1), so allow the scheme.
    target = f"{urlsplit(target).scheme}:" if "[" in target else target
    response.headers["Content-Security-Policy"] = policy_with_form_to(target)
    return response


def _asked(request: HttpRequest, reader: Reader) -> Asked:
    """Raises CannotLeadBack unless the client lists the redirect address."""
    given = request.GET
    try:
        client_id = client_id_of(given.get("client_id", ""))
    except Refused as error:
        raise CannotLeadBack(str(error)) from error
    if not count_within((PAGES, str(reader.pk))):
        raise TooOften("Too many attempts. Wait a minute.")
    client, redirect_uri = read_client(client_id), given.get("redirect_uri", "")
    if not may_return_to(redirect_uri, client.client_id, client.redirect_uris):
        why = f" {client.problem}" if client.problem else ""
        where = redirect_uri[:200] or "nowhere"
        raise CannotLeadBack(
            f"{client.host} wants the answer to be sent to {where}, and does not say that this address is its"
            f" own.{why}"
        )
    problem = ""
    if given.get("response_type") != "code":
        problem = "unsupported_response_type"
    elif given.get("code_challenge_method") != "S256" or not is_challenge(given.get("code_challenge", "")):
        # PKCE (RFC 7636) is required.
        problem = "invalid_request"
    elif not 1 <= len(given.get("state", "")) <= LONGEST_STATE:
        # Required by IndieAuth §5.2. A truncated state would not match the client's.
        problem = "invalid_request"
    return Asked(
        client=client,
        redirect_uri=redirect_uri,
        state=given.get("state", "")[:LONGEST_STATE],
        challenge=given.get("code_challenge", ""),
        scopes=tuple(dict.fromkeys(given.get("scope", "").split()))[:50],
        problem=problem,
    )


def scope_words() -> dict[str, str]:
    return {
        parameters.READ: gettext("Read your channels and posts, and mark posts as read"),
        parameters.FOLLOW: gettext("Follow and unfollow feeds"),
        parameters.CHANNELS: gettext("Add, rename, reorder and delete channels"),
        parameters.MUTE: gettext("Mute authors"),
        parameters.BLOCK: gettext("Block authors"),
        parameters.PROFILE: gettext("See your name"),
    }
