"""Signing in by a mailed link, and the pages of a signed-in reader.

Sessions are separate from the admin's. The cookie is sent to /mine/ only, and expires after twelve hours.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import wraps
from importlib import import_module
from itertools import islice
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from common.clock import utcnow
from common.formats.dates import full_time
from common.languages import asked_for
from common.ports.personal_data import HeldRows, sources
from common.rates import OverLimit
from subscriptions import links
from subscriptions.forms.reader import AddForm, SignInForm
from subscriptions.models import AddressChange, Destination, Subscribable, Subscription
from subscriptions.newsletters.rhythm import rhythm, with_rhythms, zone_in_words
from subscriptions.privacy.erase import count_held, erase
from subscriptions.privacy.personal_data import data_file_of
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers import address_change as changing
from subscriptions.subscribers import sign_in as signing_in
from subscriptions.subscribers.admin_changes import is_paused
from subscriptions.subscribers.leave import is_received, leave_all, not_left, switches_that_ended
from subscriptions.subscribers.sign_in import spoken_by
from subscriptions.subscribers.sign_up import SignUpClosed, is_open, take_newsletter
from subscriptions.views.pages import (
    Page,
    TokenPage,
    focus_on_error,
    page,
    public,
    read_told,
    same_time,
    shows_and_acts,
    speak,
    told_url,
)

COOKIE = "reader"
PATH = "/mine/"
AT_MOST = timedelta(hours=12)
READER, SINCE = "reader", "since"
ReaderView = Callable[..., HttpResponseBase]
# The JSON document has all.
ROWS_SHOWN = 50
MOST_NEWSLETTERS = 500
OTHERS_SHOWN = 30


@method_decorator(public, name="dispatch")
class SignInPage(Page):
    """Same response for all addresses."""

    form_class = SignInForm
    template_name = "pages/sign_in.html"

    def form_valid(self, form: SignInForm) -> HttpResponse:
        email, language = form.cleaned_data["email"], asked_for(self.request)
        try:
            if not form.is_robot:
                signing_in.ask_for_link(email=email, ip=self.ip, now=self.now, language=language)
        except OverLimit:
            # About the connection only: it must not reveal requests for an address.
            form.add_error(None, gettext("Too many attempts from your network. Please try again in an hour."))
            response = self.show(form, status=429)
        else:
            context = {"email": email, "minutes": signing_in.MINUTES}
            response = render(self.request, "pages/sign_in_sent.html", context)
        patch_cache_control(response, no_store=True)
        return response


class SignInLinkPage(TokenPage):
    template_name = "pages/sign_in_confirm.html"
    bad_link_template = "pages/sign_in_spent.html"
    context_object_name = "reader"

    def get_object(self) -> Destination:
        return signing_in.destination_of_link(token=self.token, now=self.now)

    def get_language(self) -> str:
        return "" if self.signs_in else spoken_by(self.object)

    @property
    def signs_in(self) -> bool:
        # A cross-site POST could sign people in to a stranger's address.
        is_from_elsewhere = self.request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
        return self.request.method == "POST" and not is_from_elsewhere

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().post(request, *args, **kwargs) if self.signs_in else self.get(request)

    def form_valid(self, form: Any) -> HttpResponse:
        response = HttpResponseRedirect(reverse("subscriptions:mine"))
        begin_session(response, signing_in.use_link(token=self.token, now=self.now))
        return response


def begin_session(response: HttpResponse, destination: Destination) -> None:
    session = _session(None)
    session[READER], session[SINCE] = destination.pk, utcnow().timestamp()
    session.set_expiry(AT_MOST)
    session.save()
    response.set_cookie(
        COOKIE,
        session.session_key or "",
        max_age=AT_MOST,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def end_session(request: HttpRequest, response: HttpResponse) -> None:
    """Sign out and delete the session, in case the key was copied."""
    if key := request.COOKIES.get(COOKIE):
        session = _session(key)
        if READER in session:
            session.flush()
    response.delete_cookie(COOKIE, path=PATH, samesite="Lax")


def signed_in(view: ReaderView) -> ReaderView:
    """Pass the reader, or redirect to sign-in.

    Referrer policy is same-origin, because CSRF checks under HTTPS need a referrer.
    """

    @wraps(view)
    @cache_control(no_store=True)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # Admins' sessions have another cookie.
        key = request.COOKIES.get(COOKIE)
        pk = _session(key).get(READER) if key else None
        reader = Destination.objects.filter(pk=pk, erased_at=None).first() if pk else None
        if reader is None or was_signed_out(reader, key or ""):
            ended = "?ended" if COOKIE in request.COOKIES else ""
            response: HttpResponseBase = HttpResponseRedirect(reverse("subscriptions:sign_in") + ended)
        else:
            speak(spoken_by(reader))
            response = page(view)(request, *args, reader=reader, **kwargs)
        response.headers["X-Robots-Tag"] = "noindex"
        return response

    return wrapped


def was_signed_out(reader: Destination, key: str) -> bool:
    """Return whether a change of address, perhaps by a stranger, was undone since."""
    since = datetime.fromtimestamp(_session(key).get(SINCE, 0), UTC)
    return reader.changes_away.filter(undone_at__gte=since).exists()


def _session(key: str | None) -> SessionBase:
    store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
    return store(key)


@method_decorator([shows_and_acts, signed_in], name="dispatch")
class ReaderPage(Page):
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.reader: Destination = kwargs["reader"]
        self.extra_context = {"reader": self.reader}
        return super().dispatch(request, *args, **kwargs)


@signed_in
@require_POST
def sign_out(request: HttpRequest, reader: Destination) -> HttpResponse:
    response = HttpResponseRedirect(reverse("subscriptions:sign_in"))
    end_session(request, response)
    return response


class MinePage(ReaderPage):
    form_class = AddForm
    template_name = "pages/mine.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        rows = self.reader.subscriptions.select_related("subscribable").order_by("subscribable__title", "pk")
        shown = list(rows[:MOST_NEWSLETTERS])
        # Switched-away newsletters are not listed as left.
        changed = set(switches_that_ended({row.pk for row in shown}).values_list("old", flat=True))
        have = {row.subscribable_id for row in shown}
        others = Subscribable.objects.listed().exclude(pk__in=have).order_by("title", "name")[:OTHERS_SHOWN]
        former = [row for row in shown if not is_received(row) and row.pk not in changed]
        return super().get_context_data(
            **kwargs,
            entries=[_entry(row, self.now) for row in shown if is_received(row)],
            former=[_entry(row, self.now) for row in former],
            added=self.request.GET.get("added", "")[:64],
            others=with_rhythms(each for each in others if is_open(each)),
        )

    def form_valid(self, form: AddForm) -> HttpResponse:
        newsletter = form.cleaned_data["newsletter"]
        words = gettext("Get %(newsletter)s, too") % {"newsletter": newsletter}
        origin = Origin(How.MANAGE, self.ip, f"{words}. {rhythm(newsletter)}.")
        try:
            take_newsletter(reader=self.reader, subscribable=newsletter, origin=origin, now=self.now)
        except SignUpClosed:
            return self.form_invalid(form)
        here = reverse("subscriptions:mine")
        return HttpResponseRedirect(f"{here}?{urlencode({'added': newsletter.name})}", status=303)

    def form_invalid(self, form: AddForm) -> HttpResponse:
        return HttpResponseRedirect(reverse("subscriptions:mine"), status=303)


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


class LeaveAllPage(ReaderPage):
    template_name = "pages/mine_leave.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        rows = not_left(self.reader).select_related("subscribable")
        newsletters = [row.subscribable for row in rows if is_received(row)]
        return super().get_context_data(newsletters=newsletters, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        leave_all(destination=self.reader, now=self.now)
        return HttpResponseRedirect(reverse("subscriptions:mine") + "?left")


class ErasePage(ReaderPage):
    template_name = "pages/erase.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        facts = {"held": count_held(self.reader), "suppressed": self.reader.suppression}
        return super().get_context_data(**facts, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        context = {"suppressed": self.reader.suppression}
        erase(destination=self.reader, now=self.now)
        response = render(self.request, "pages/erased.html", context)
        end_session(self.request, response)
        return response


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
                value = f"{full_time(local)}, {zone}"
            yield title, str(value)


@require_safe
@signed_in
def data_file(request: HttpRequest, reader: Destination) -> StreamingHttpResponse:
    return data_file_of(reader)


class ChangeAddressPage(ReaderPage):
    """The response is the same whatever is known of the new address."""

    form_class = SignInForm
    template_name = "pages/address.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        sent = read_told(request)
        if sent is not None:
            return render(request, "pages/address_sent.html", {"email": sent.get("email", "")})
        return super().get(request, *args, **kwargs)

    def form_invalid(self, form: SignInForm) -> HttpResponse:
        focus_on_error(form)
        return super().form_invalid(form)

    def form_valid(self, form: SignInForm) -> HttpResponse:
        email, language = form.cleaned_data["email"], spoken_by(self.reader)
        try:
            with same_time():
                if not form.is_robot:
                    changing.ask_for_change(
                        reader=self.reader, email=email, ip=self.ip, now=self.now, language=language
                    )
        except changing.CannotChangeAddress as error:
            form.add_error(error.field or None, str(error))
            return self.show(form, status=400)
        except OverLimit:
            form.add_error(None, gettext("Too many attempts. Please try again tomorrow."))
            return self.show(form, status=429)
        return HttpResponseRedirect(told_url(self.request.path, {"email": email}))


class ConfirmAddressPage(TokenPage):
    context_object_name = "change"

    def get_object(self) -> AddressChange:
        return changing.change_of_link(token=self.token, now=self.now)

    def get_template_names(self) -> list[str]:
        return [f"pages/address_{'changed' if self.object.confirmed_at else 'confirm'}.html"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        old: Destination = self.object.old
        rows = old.subscriptions.filter(status=Subscription.Status.CONFIRMED, ended_at=None)
        newsletters = [row.subscribable for row in rows.select_related("subscribable").order_by("pk")]
        facts = {"old_address": masked(old.label), "newsletters": newsletters}
        return super().get_context_data(**facts, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        if self.object.confirmed_at is not None:
            return self.show(form)
        words = gettext("Newsletters of another address will be sent to %(address)s.")
        words %= {"address": self.object.new.label}
        changing.confirm_change(token=self.token, now=self.now, ip=self.ip, words=words)
        return HttpResponseRedirect(self.path)


class UndoAddressPage(TokenPage):
    template_name = "pages/address_undo.html"
    context_object_name = "change"

    def get_object(self) -> AddressChange:
        return changing.change_to_undo(token=self.token, now=self.now)

    def form_valid(self, form: Any) -> HttpResponse:
        if self.object.undone_at is not None:
            return self.show(form)
        changing.undo_change(token=self.token, now=self.now)
        return HttpResponseRedirect(self.path)


def masked(address: str) -> str:
    """Shorten an address, as its owner may have mistyped the other one."""
    name, _, domain = address.rpartition("@")
    return f"{name[:1]}…@{domain}"
