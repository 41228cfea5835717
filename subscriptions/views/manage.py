"""Page of one subscription. It shows no others, as letters get forwarded."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext

from common.clock import utcnow
from common.refused import Refused
from subscriptions import links
from subscriptions.forms.reader import DetailsForm, PauseForm
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.pauses import LENGTHS, day_after
from subscriptions.subscribers.details import pause, resume, save_details
from subscriptions.subscribers.frequency import CannotSwitch, switch, undo_switch
from subscriptions.views.pages import by_token, speak
from subscriptions.views.rhythm import rhythm
from subscriptions.views.subscription_page import subscription_context


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
