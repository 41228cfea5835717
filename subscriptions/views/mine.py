"""Pages of a reader's subscriptions. A letter's page shows one alone, as letters get forwarded."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
from common.refused import Refused
from subscriptions import links
from subscriptions.forms.reader import DetailsForm, PauseForm
from subscriptions.models import Destination, FrequencyChange, Subscribable, Subscription
from subscriptions.privacy.erase import count_held, erase, is_suppressed
from subscriptions.privacy.personal_data import data_file_of
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.pauses import LENGTHS, day_after
from subscriptions.rules.schedule import wall
from subscriptions.rules.words import clock_words
from subscriptions.subscribers.admin_changes import is_paused, pause, resume, save_details
from subscriptions.subscribers.frequency import (
    CannotSwitch,
    Cost,
    cost_of_now,
    is_over,
    plan_switch,
    siblings,
    still_to_come,
    switch,
    switch_beginning,
    switch_ending,
    undo_switch,
)
from subscriptions.subscribers.leave import can_undo, is_received, leave_all, not_left
from subscriptions.subscribers.lineage import successor, switches_that_ended
from subscriptions.subscribers.sign_up import SignUpClosed, is_open, take_newsletter
from subscriptions.views import pages
from subscriptions.views.pages import by_token, signed_in, speak
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


class ManageRefused(Refused):
    def __init__(self, words: str = "", **forms: Any) -> None:
        super().__init__(words)
        self.forms = forms


@by_token
def manage(request: HttpRequest, token: str) -> HttpResponse:
    subscription, now = links.find(token, links.MANAGE), utcnow()
    speak(subscription.language)
    if request.method != "POST":
        return _page(request, subscription, now)
    try:
        return act(request, subscription, request.POST.get("act", ""), now)
    except ManageRefused as error:
        return _page(request, subscription, now, refused=error)


def act(request: HttpRequest, subscription: Subscription, name: str, now: datetime) -> HttpResponse:
    """Raises ManageRefused."""
    if subscription.status == Subscription.Status.UNSUBSCRIBED:
        raise ManageRefused(gettext("You’ve unsubscribed, so there’s nothing to change."))
    done = ACTS.get(name, details)(request, subscription, now)
    return HttpResponseRedirect(f"{links.manage_url(done.subscription)}?done={done.words}")


class DoneAct:
    def __init__(self, words: str, subscription: Subscription) -> None:
        self.words, self.subscription = words, subscription


def details(request: HttpRequest, subscription: Subscription, now: datetime) -> DoneAct:
    form = DetailsForm(request.POST, subscription=subscription)
    if not form.is_valid():
        raise ManageRefused(form=form)
    save_details(subscription=subscription, name=form.cleaned_data["name"], language=form.given_language)
    return DoneAct("saved", subscription)


def pause_it(request: HttpRequest, subscription: Subscription, now: datetime) -> DoneAct:
    newsletter = subscription.subscribable
    if (length := request.POST.get("for", "")) in LENGTHS:
        until = day_after(length, now=now, zone=newsletter.zone)
    else:
        form = PauseForm(request.POST, newsletter=newsletter, now=now)
        if not form.is_valid():
            raise ManageRefused(pause=form)
        until = form.cleaned_data["until"]
    pause(subscription=subscription, until=until, now=now)
    return DoneAct("paused", subscription)


def resume_it(request: HttpRequest, subscription: Subscription, now: datetime) -> DoneAct:
    resume(subscription=subscription)
    return DoneAct("resumed", subscription)


def switch_it(request: HttpRequest, subscription: Subscription, now: datetime) -> DoneAct:
    to = Subscribable.objects.filter(name=request.POST.get("to", "")[:64]).first()
    at_once = request.POST.get("when") == "now"
    try:
        if to is None:
            raise CannotSwitch(gettext("You can no longer change to that newsletter."))
        button = gettext("Get this instead")
        words = f"{button}: {to}. {rhythm(to)}."
        origin = Origin(How.MANAGE, ip=request.META.get("REMOTE_ADDR", ""), words=words)
        made = switch(subscription=subscription, to=to, now=now, at_once=at_once, origin=origin)
    except CannotSwitch as error:
        raise ManageRefused(str(error)) from error
    # Must not reveal another subscription that the reader had before.
    is_new_shown = at_once and not made.was_there
    return DoneAct("changed" if at_once else "changing", made.new if is_new_shown else subscription)


def stay(request: HttpRequest, subscription: Subscription, now: datetime) -> DoneAct:
    try:
        undo_switch(subscription=subscription, now=now)
    except CannotSwitch as error:
        raise ManageRefused(str(error)) from error
    return DoneAct("stays", subscription)


ACTS: Mapping[str, Callable[[HttpRequest, Subscription, datetime], DoneAct]] = {
    "details": details,
    "pause": pause_it,
    "resume": resume_it,
    "switch": switch_it,
    "stay": stay,
}


def _page(
    request: HttpRequest, subscription: Subscription, now: datetime, refused: ManageRefused | None = None
) -> HttpResponse:
    context = {
        **subscription_context(subscription, now),
        "form": DetailsForm(subscription=subscription),
        "pause": PauseForm(newsletter=subscription.subscribable, now=now),
        **(refused.forms if refused else {}),
        "error": str(refused) if refused else "",
        "done": request.GET.get("done", "") if refused is None else "",
        "path": request.path,
    }
    return render(request, "pages/manage.html", context, status=400 if refused else 200)


@dataclass(frozen=True, slots=True)
class Choice:
    newsletter: Subscribable
    rhythm: str


@dataclass(frozen=True, slots=True)
class ShownChange:
    """Pending switch. `at` is None while it waits for `posts`."""

    old: Subscribable
    new: Subscribable
    rhythm: str
    at: datetime | None
    clock: str
    posts: int
    time_zone: str
    zone: str
    is_over: bool
    may_repeat: bool
    cost: Cost


def subscription_context(subscription: Subscription, now: datetime) -> dict[str, Any]:
    newsletter, page_url = subscription.subscribable, links.page_url(subscription.subscribable)
    goes, comes = switch_ending(subscription), switch_beginning(subscription)
    is_active = subscription.status == Subscription.Status.CONFIRMED and subscription.ended_at is None
    may_switch = is_active and not comes and not subscription.is_beside
    return {
        "subscription": subscription,
        "newsletter": newsletter,
        "rhythm": rhythm(newsletter),
        "page_url": page_url,
        "archive_url": f"{page_url}archive/" if page_url else "",
        "is_open": is_open(newsletter),
        "is_active": is_active,
        "paused_until": subscription.paused_until if is_paused(subscription, now) else None,
        "change": shown_change(goes, now) if goes and is_active else None,
        "coming": shown_change(comes, now) if comes and is_active else None,
        "choices": choices(siblings(newsletter, now=now)) if may_switch else [],
        "successor": None if is_active else successor(subscription),
        "can_undo": can_undo(subscription=subscription, now=now),
        "manage_url": links.manage_url(subscription),
        "unsubscribe_url": links.unsubscribe_url(subscription),
    }


def choices(newsletters: list[Subscribable]) -> list[Choice]:
    return [Choice(one, rhythm(one)) for one in newsletters]


def shown_change(switch: FrequencyChange, now: datetime) -> ShownChange:
    old, new, zone = switch.old.subscribable, switch.new.subscribable, switch.rarer.time_zone
    over = is_over(switch, now)
    return ShownChange(
        old=old,
        new=new,
        rhythm=rhythm(new),
        at=switch.at,
        clock=clock_words(wall(switch.at, ZoneInfo(zone)).time()) if switch.at else "",
        posts=still_to_come(switch),
        time_zone=zone,
        zone=zone_in_words(ZoneInfo(zone)),
        is_over=over,
        may_repeat=not over and not plan_switch(old=old, new=new, now=now).is_nested,
        cost=cost_of_now(old=old, new=new),
    )
