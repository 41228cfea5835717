"""Which programs act for a reader, and the end of that."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from common.clock import utcnow
from reader.indieauth.addresses import profile_of
from reader.models import Reader
from reader.pages.access import for_readers, surroundings
from reader.pages.consent import scope_words
from reader.people.tokens import ends_at, live_tokens, revoke_token
from reader.rules.order import LARGEST_KEY

MOST_SHOWN = 200


@for_readers
@require_safe
def clients(request: HttpRequest, reader: Reader) -> HttpResponse:
    """What each may do, and when it was used."""
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
    """From now on it can do nothing here."""
    now = utcnow()
    token = live_tokens(reader, now).filter(pk=min(pk, LARGEST_KEY)).first()
    if token is None:
        raise Http404("There is no such client.")
    revoke_token(token=token, now=now)
    return HttpResponseRedirect(f"{reverse('reader:clients')}?revoked")
