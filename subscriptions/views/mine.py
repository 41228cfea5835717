from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.clock import utcnow
from common.formats.dates import day_words
from common.ports.personal_data import HeldRows, sources
from subscriptions import links
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.privacy.erase import count_held, erase, is_suppressed
from subscriptions.privacy.personal_data import data_file_of
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.words import clock_words
from subscriptions.subscribers.details import is_paused
from subscriptions.subscribers.leave import is_received, leave_all, not_left
from subscriptions.subscribers.lineage import switches_that_ended
from subscriptions.subscribers.sign_up import SignUpClosed, is_open, take_newsletter
from subscriptions.views import pages
from subscriptions.views.pages import signed_in
from subscriptions.views.rhythm import rhythm, zone_in_words

# The JSON document has all.
ROWS_SHOWN = 50
MOST_NEWSLETTERS = 500
OTHERS_SHOWN = 30


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def mine(request: HttpRequest, reader: Destination) -> HttpResponse:
    now = utcnow()
    if request.method == "POST":
        return _add(request, reader, now)
    rows = reader.subscriptions.select_related("subscribable").order_by("subscribable__title", "pk")
    shown = list(rows[:MOST_NEWSLETTERS])
    # Switched-away newsletters are not listed as left.
    changed = set(switches_that_ended({row.pk for row in shown}).values_list("old", flat=True))
    context = {
        "reader": reader,
        "entries": [_entry(row, now) for row in shown if is_received(row)],
        "former": [_entry(row, now) for row in shown if not is_received(row) and row.pk not in changed],
        "left": "left" in request.GET,
        "added": request.GET.get("added", "")[:64],
        "others": _others(shown),
    }
    return render(request, "pages/mine.html", context)


def _add(request: HttpRequest, reader: Destination, now: datetime) -> HttpResponse:
    name = request.POST.get("newsletter", "")[:64]
    found = Subscribable.objects.listed().named(name).first()
    here = reverse("subscriptions:mine")
    if found is None:
        return HttpResponseRedirect(here, status=303)
    words = gettext("Get %(newsletter)s, too") % {"newsletter": found}
    origin = Origin(How.MANAGE, request.META.get("REMOTE_ADDR", ""), f"{words}. {rhythm(found)}.")
    try:
        take_newsletter(reader=reader, subscribable=found, origin=origin, now=now)
    except SignUpClosed:
        return HttpResponseRedirect(here, status=303)
    return HttpResponseRedirect(f"{here}?{urlencode({'added': found.name})}", status=303)


def _others(shown: list[Subscription]) -> list[dict[str, Any]]:
    have = {row.subscribable_id for row in shown}
    rows = Subscribable.objects.listed().exclude(pk__in=have).order_by("title", "name")[:OTHERS_SHOWN]
    return [{"newsletter": each, "rhythm": rhythm(each)} for each in rows if is_open(each)]


def _entry(subscription: Subscription, now: datetime) -> dict[str, Any]:
    newsletter, begins = subscription.subscribable, subscription.receives_from
    return {
        "subscription": subscription,
        "newsletter": newsletter,
        "rhythm": rhythm(newsletter),
        "url": links.manage_url(subscription),
        "is_open": is_open(newsletter),
        "is_paused": is_paused(subscription, now),
        "begins": begins if begins is not None and begins > now else None,
    }


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def leave_everything(request: HttpRequest, reader: Destination) -> HttpResponse:
    if request.method == "POST":
        leave_all(destination=reader, now=utcnow())
        return HttpResponseRedirect(reverse("subscriptions:mine") + "?left")
    rows = not_left(reader).select_related("subscribable")
    newsletters = [row.subscribable for row in rows if is_received(row)]
    return render(request, "pages/mine_leave.html", {"reader": reader, "newsletters": newsletters})


@require_safe
@signed_in
def data(request: HttpRequest, reader: Destination) -> HttpResponse:
    parts = []
    for source in sources:
        if rows := list(islice(source.rows(reader), ROWS_SHOWN + 1)):
            part = {
                "title": source.title,
                "key": source.key,
                "rows": [list(_cells(source, row)) for row in rows[:ROWS_SHOWN]],
                "more": source.count(reader) - ROWS_SHOWN if len(rows) > ROWS_SHOWN else 0,
            }
            parts.append(part)
    return render(request, "pages/mine_data.html", {"reader": reader, "parts": parts})


def _cells(source: HeldRows, row: Any) -> Iterator[tuple[Any, str]]:
    for name, title in source.columns.items():
        if (value := row.get(name)) not in (None, ""):
            value = source.words.get(value, value)
            if isinstance(value, datetime):
                local = timezone.localtime(value)
                zone = zone_in_words(ZoneInfo(timezone.get_current_timezone_name()))
                value = f"{day_words(local)}, {clock_words(local.time())}, {zone}"
            yield title, str(value)


@require_safe
@signed_in
def data_file(request: HttpRequest, reader: Destination) -> StreamingHttpResponse:
    return data_file_of(reader)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def erase_me(request: HttpRequest, reader: Destination) -> HttpResponse:
    suppressed = is_suppressed(reader)
    if request.method != "POST":
        context = {"reader": reader, "held": count_held(reader), "suppressed": suppressed}
        return render(request, "pages/erase.html", context)
    erase(destination=reader, now=utcnow())
    response = render(request, "pages/erased.html", {"suppressed": suppressed})
    pages.end_session(request, response)
    return response


@signed_in
@require_POST
def sign_out(request: HttpRequest, reader: Destination) -> HttpResponse:
    response = HttpResponseRedirect(reverse("subscriptions:sign_in"))
    pages.end_session(request, response)
    return response
