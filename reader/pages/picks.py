from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_POST, require_safe

from common.clock import utcnow
from feeds.adding.add import add_feed, feed_at
from reader.models import Reader
from reader.pages.access import for_readers, reading_page
from reader.people.picks import TYPES, address_of, picks_at, picks_of, title_of, written

# Of the newsletter's form.
FRIDAYS = {"arrangement": "weekly", "weekdays": "4", "at": "16:00"}


@conditional_page
@require_safe
@cache_control(private=True, max_age=300)
def feed(request: HttpRequest, key: str, kind: str) -> HttpResponse:
    reader = _reader(key)
    document, headers = written(reader, picks_of(reader), kind), {"X-Robots-Tag": "noindex"}
    return HttpResponse(document, content_type=TYPES[kind], headers=headers)


@reading_page
@require_safe
def page(request: HttpRequest, key: str) -> HttpResponse:
    reader = _reader(key)
    if reader.picks != Reader.Picks.PUBLIC:
        raise Http404("Picks not found.")
    addresses = {kind: address_of(reader, kind) for kind in TYPES}
    context = {"title": title_of(reader), "picks": picks_of(reader), "addresses": addresses}
    return render(request, "reader/picks.html", context)


def makes_newsletters(user: User | AnonymousUser) -> bool:
    return user.is_staff and user.has_perms(("feeds.add_feed", "subscriptions.add_subscribable"))


@for_readers
@require_POST
def newsletter(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Add the feed of the reader's picks, and continue with the form of a new newsletter."""
    if not reader.has_picks or not makes_newsletters(reader.user):
        raise Http404("Picks not found.")
    address = address_of(reader, "xml")
    try:
        # A reader chooses each post, so many at once are no flood.
        feed = feed_at(address) or add_feed(
            url=address, now=utcnow(), title=title_of(reader), hold_floods=False
        )
    except ValidationError as error:
        raise Http404(" ".join(error.messages)) from error
    query = urlencode({"feeds": str(feed.pk), **FRIDAYS})
    return HttpResponseRedirect(f"{reverse('admin:subscriptions_subscribable_add')}?{query}")


def _reader(key: str) -> Reader:
    reader = picks_at(key)
    if reader is None:
        raise Http404("Picks not found.")
    return reader
