"""Your account: the own address and sessions."""

from datetime import datetime, timedelta
from typing import Any

from allauth.usersessions.internal.flows.sessions import end_other_sessions, end_sessions
from allauth.usersessions.models import UserSession
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminEmailInputWidget

from common import signing
from common.admin.html import page, short_when
from common.admin.refusals import add_refusal
from common.clock import utcnow
from common.ports.hooks import MailFacts, site_mail
from common.rates import DAY, Limit, count_rows_within
from common.refused import Refused
from delivery.accounts.accounts import sends_nothing
from feedletter_site.sign_in.setup import FITS_NAME
from feedletter_site.team.sessions import note_session
from reader.pages.access import confirmed
from subscriptions.branding.brands import site_facts

PURPOSE = "own-address"
HOURS = 24
# Anybody's address can be typed.
OF_USER = Limit("own address", 5, DAY)
# More special names first: most browsers name others, too.
BROWSERS = (
    *(("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("FxiOS", "Firefox")),
    *(("CriOS", "Chrome"), ("Chrome", "Chrome"), ("Safari", "Safari")),
)
SYSTEMS = (
    *(("iPhone", "an iPhone"), ("iPad", "an iPad"), ("Android", "Android"), ("Windows", "Windows")),
    *(("Mac OS X", "a Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)


class AddressForm(forms.Form):
    email = forms.EmailField(
        label="New email address",
        max_length=150,
        validators=[FITS_NAME],
        help_text="We send a link there. The address changes when you open it.",
        widget=UnfoldAdminEmailInputWidget(attrs={"autocomplete": "email"}),
    )


@confirmed(lambda given: "email" in given)
def your_account(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    form = AddressForm(request.POST if "email" in request.POST else None)
    if request.method == "POST" and not form.is_bound:
        return _ended(request)
    if form.is_bound and form.is_valid():
        try:
            ask_for_address(user=user, email=form.cleaned_data["email"], now=utcnow())
        except Refused as error:
            add_refusal(form, error)
        else:
            messages.success(request, f"We’ve sent a link to {form.cleaned_data['email']}.")
            return HttpResponseRedirect(reverse("your_account"))
    note_session(request)
    rows = sorted(UserSession.objects.purge_and_list(user), key=lambda row: row.last_seen_at, reverse=True)
    now = utcnow()
    context = {
        "title": "Your account",
        "form": form,
        "sessions": [
            (row, browser_words(row.user_agent), short_when(row.last_seen_at, now=now)) for row in rows
        ],
    }
    return page(request, "admin/feedletter_site/account.html", context)


def _ended(request: HttpRequest) -> HttpResponse:
    """Sign out one session, or all but this one."""
    key = request.POST.get("session", "")
    if key == "others":
        end_other_sessions(request, request.user)
    elif key.isascii() and key.isdecimal() and len(key) < 19:
        end_sessions(request, list(UserSession.objects.filter(user=request.user.pk, pk=int(key))))
    return HttpResponseRedirect(reverse("your_account"))


def ask_for_address(*, user: User, email: str, now: datetime) -> None:
    """Email a link to the new address. Raises Refused."""
    if sends_nothing():
        raise Refused("This site can’t send email.", "email")
    _require_free(user, email)
    if not count_rows_within((OF_USER, str(user.pk)), now=now):
        raise Refused("You’ve asked for too many links today. Try again tomorrow.", "email")
    expires = now + timedelta(hours=HOURS)
    payload: dict[str, str | int] = {"user": user.pk, "old": user.email, "new": email}
    token = signing.sign(PURPOSE, payload, expires=expires)
    context: MailFacts = {
        "subject": f"Confirm your address for {site_facts().name}",
        "sentences": f"You asked to sign in with this address.\nThe link works for {HOURS} hours, once you’ve"
        " signed in. If it wasn’t you, ignore this email and nothing changes.",
        "page_url": settings.SITE_URL + reverse("own_address", args=[token]),
    }
    site_mail().send(address=email, template="alert", context=context, now=now)


@transaction.atomic
def change_address(*, user: User, token: str, now: datetime) -> None:
    """Use the new address, and tell the old one. Raises Refused."""
    user = User.objects.select_for_update().get(pk=user.pk)
    try:
        payload = signing.read(PURPOSE, token, now=now)
    except signing.TokenError as error:
        raise Refused(str(error)) from error
    if (payload["user"], payload["old"]) != (user.pk, user.email):
        raise Refused("This link was already used, or belongs to another account.")
    email = str(payload["new"])
    _require_free(user, email)
    old = user.email
    user.email = email
    if user.username.lower() == old.lower():
        user.username = email
    user.save(update_fields=["email", "username"])
    if old:
        context: MailFacts = {
            "subject": f"Your address at {site_facts().name} was changed",
            "sentences": f"You now sign in with {email}.\nIf it wasn’t you, ask another admin of the site to"
            " set a new password for you.",
        }
        site_mail().send(address=old, template="alert", context=context, now=now)


def _require_free(user: User, email: str) -> None:
    others = User.objects.exclude(pk=user.pk)
    if others.filter(Q(email__iexact=email) | Q(username__iexact=email)).exists():
        raise Refused("Somebody else uses this address here.", "email")


def own_address(request: HttpRequest, token: str) -> HttpResponse:
    """Page of the link in the email. Mail servers open links, so it asks for a click."""
    if request.method == "POST":
        try:
            change_address(user=request.user, token=token, now=utcnow())  # type: ignore[arg-type]
        except Refused as error:
            messages.error(request, str(error))
        else:
            messages.success(request, "Your address is changed.")
        return HttpResponseRedirect(reverse("your_account"))
    context = {
        "title": "Use this address",
        "sentences": ["You’ll sign in with this address and get alerts there."],
        "back": reverse("your_account"),
    }
    return page(request, "admin/confirm_action.html", context)


def browser_words(user_agent: str) -> str:
    """Return words such as "Firefox on Windows" for a User-Agent header."""
    browser = next((words for name, words in BROWSERS if name in user_agent), "")
    system = next((words for name, words in SYSTEMS if name in user_agent), "")
    return " on ".join(filter(None, (browser or "Another browser", system)))
