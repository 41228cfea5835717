"""Pages by links of emails. They show no other subscriptions, as emails get forwarded."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from common.formats.dates import clock
from common.refused import Refused
from subscriptions import links
from subscriptions.branding.brands import latest_of
from subscriptions.forms.reader import DetailsForm, ManageForm, PauseForm, ResumeForm, StayForm, SwitchForm
from subscriptions.models import FrequencyChange, Subscribable, Subscription
from subscriptions.newsletters.rhythm import next_letter, rhythm, with_rhythms, zone_in_words
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.schedule import wall
from subscriptions.subscribers import sign_up
from subscriptions.subscribers.admin_changes import is_paused
from subscriptions.subscribers.frequency import (
    cost_of_now,
    is_over,
    plan_switch,
    rarer_siblings,
    siblings,
    still_to_come,
    switch_beginning,
    switch_ending,
)
from subscriptions.subscribers.leave import can_return, leave, may_say_why, say_why, successor, undo_leaving
from subscriptions.subscribers.sign_up import is_open
from subscriptions.views.pages import TokenPage

FORMS: dict[str, type[ManageForm]] = {
    "details": DetailsForm,
    "pause": PauseForm,
    "resume": ResumeForm,
    "switch": SwitchForm,
    "stay": StayForm,
}
INSTEAD = frozenset({"switch", "pause"})


class ConfirmPage(TokenPage):
    def get_object(self) -> list[Subscription]:
        return sign_up.subscriptions_of_link(token=self.token, now=self.now)

    def get_language(self) -> str:
        """The proof of consent quotes the page in this language."""
        return str(self.object[0].language)

    @property
    def is_confirmed(self) -> bool:
        return all(each.status == Subscription.Status.CONFIRMED for each in self.object)

    def form_valid(self, form: Any) -> HttpResponse:
        origin = Origin(How.PAGE, ip=self.ip, zone=self.request.POST.get("zone", ""))
        sign_up.confirm_subscriptions(token=self.token, now=self.now, origin=origin)
        return HttpResponseRedirect(self.path, status=303)

    def get_template_names(self) -> list[str]:
        return ["pages/confirmed.html" if self.is_confirmed else "pages/confirm.html"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        first, *others = self.object
        newsletter = None if others else first.subscribable
        entries = [
            {
                "newsletter": each.subscribable,
                "rhythm": rhythm(each.subscribable),
                "next_at": next_letter(each.subscribable),
                "manage_url": links.manage_url(each),
                "page_url": links.page_url(each.subscribable),
            }
            for each in self.object
        ]
        return super().get_context_data(
            **kwargs,
            subscription=first,
            newsletter=newsletter,
            entries=entries,
            latest=latest_of(newsletter) if newsletter and self.is_confirmed else None,
            asks_zone=any(each.subscribable.welcome == Subscribable.Welcome.SERIES for each in self.object),
        )


class ManagePage(TokenPage):
    template_name = "pages/manage.html"
    context_object_name = "subscription"
    purpose = links.MANAGE
    object: Subscription

    def get_object(self) -> Subscription:
        return links.find(self.token, self.purpose)

    @property
    def act(self) -> str:
        name = self.request.POST.get("act", "")
        return name if name in FORMS else "details"

    def get_form_class(self) -> type[ManageForm]:
        return FORMS[self.act]

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "subscription": self.object, "now": self.now, "ip": self.ip}

    def form_valid(self, form: ManageForm) -> HttpResponse:
        try:
            form.save()
        except Refused as error:
            form.add_error(None, str(error))
            return self.form_invalid(form)
        return HttpResponseRedirect(f"{links.manage_url(form.subscription)}?done={form.done}")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        subscription, now, newsletter = self.object, self.now, self.object.subscribable
        page_url = links.page_url(newsletter)
        is_active = subscription.status == Subscription.Status.CONFIRMED and subscription.ended_at is None
        goes, comes = switch_ending(subscription), switch_beginning(subscription)
        may_switch = is_active and not comes and not subscription.is_beside
        context = super().get_context_data(**kwargs)
        return {
            **context,
            "details": DetailsForm(subscription=subscription, now=now),
            "pause": PauseForm(subscription=subscription, now=now),
            self.act: context["form"],
            "done": "" if context["form"].is_bound else self.request.GET.get("done", ""),
            "newsletter": newsletter,
            "rhythm": rhythm(newsletter),
            "page_url": page_url,
            "archive_url": f"{page_url}archive/" if page_url else "",
            "is_open": is_open(newsletter),
            "is_active": is_active,
            "paused_until": subscription.paused_until if is_paused(subscription, now) else None,
            "change": pending(goes, now) if goes and is_active else None,
            "coming": pending(comes, now) if comes and is_active else None,
            "choices": with_rhythms(siblings(newsletter, now=now)) if may_switch else [],
            "successor": None if is_active else successor(subscription),
            "can_undo": can_return(subscription=subscription, now=now),
            "manage_url": links.manage_url(subscription),
            "unsubscribe_url": links.unsubscribe_url(subscription),
        }


class LeavePage(ManagePage):
    """One-click POSTs (RFC 8058 §3.2) have no cookie or referrer.

    A POST may also undo it, and choose an alternative.
    """

    purpose = links.UNSUBSCRIBE
    done = ""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        subscription, now = self.object, self.now
        act = "" if "List-Unsubscribe" in request.POST else request.POST.get("act", "")
        if act == "why":
            say_why(subscription=subscription, why=request.POST.get("why", ""))
            return HttpResponseRedirect(f"{self.path}?thanks", status=303)
        if act != "undo" and act not in INSTEAD:
            leave(subscription=subscription, now=now, by_reader=True)
            # One-click gets no redirect (RFC 8058 §3.1).
            return HttpResponseRedirect(self.path, status=303) if act else self.get(request)
        self.done = "back" if undo_leaving(subscription=subscription, now=now) else ""
        if subscription.status == Subscription.Status.UNSUBSCRIBED and not self.done:
            return self.render_to_response(self.get_context_data(is_late=True), status=400)
        if act in INSTEAD and subscription.status == Subscription.Status.CONFIRMED:
            return super().post(request, *args, **kwargs)
        return self.to_manage_page()

    def form_invalid(self, form: ManageForm) -> HttpResponse:
        return self.to_manage_page()

    def to_manage_page(self) -> HttpResponse:
        """It shows what is possible."""
        return HttpResponseRedirect(f"{links.manage_url(self.object)}?done={self.done}")

    def get_template_names(self) -> list[str]:
        has_left = self.object.status == Subscription.Status.UNSUBSCRIBED and not successor(self.object)
        return ["pages/left.html" if has_left else "pages/leave.html"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        subscription, now, follows = self.object, self.now, successor(self.object)
        newsletter = subscription.subscribable
        may_switch = follows is None and not subscription.is_beside
        return {
            **super().get_context_data(**kwargs),
            "leaves": follows.subscribable if follows else newsletter,
            "rarer": with_rhythms(rarer_siblings(newsletter, now=now)) if may_switch else [],
            "reasons": Subscription.LeftWhy.choices if may_say_why(subscription, now) else [],
        }


def pending(switch: FrequencyChange, now: datetime) -> dict[str, Any]:
    """Describe a pending switch. `at` is None while it waits for `posts`."""
    old, new, zone = switch.old.subscribable, switch.new.subscribable, switch.rarer.time_zone
    over = is_over(switch, now)
    return {
        "old": old,
        "new": new,
        "rhythm": rhythm(new),
        "at": switch.at,
        "clock": clock(wall(switch.at, ZoneInfo(zone))) if switch.at else "",
        "posts": still_to_come(switch),
        "time_zone": zone,
        "zone": zone_in_words(ZoneInfo(zone)),
        "is_over": over,
        "may_repeat": not over and not plan_switch(old=old, new=new, now=now)[2],
        "cost": cost_of_now(old=old, new=new),
    }
