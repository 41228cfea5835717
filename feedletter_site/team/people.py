"""Invitations to the team, and roles."""

import secrets
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminPasswordWidget

from common.clock import utcnow
from common.ports.hooks import MailFacts, site_mail
from common.refused import Refused
from common.text import pluralize
from delivery.accounts.accounts import sends_nothing
from feedletter_site.models import Member
from feedletter_site.sign_in.setup import digest
from reader.pages.people import MODEL_BACKEND
from subscriptions.models import Subscribable

INVITED_FOR_DAYS = 7
# A superuser, who needs no role in a row.
EVERYTHING = "everything"


class InvitationOver(Refused):
    """The message is for the invitation's holder."""


def invite(*, email: str, role: str, newsletters: Collection[Subscribable] | None, now: datetime) -> User:
    """Add a user who can't sign in yet, and email a link. `newsletters`: None for all. Raises Refused."""
    if sends_nothing():
        raise Refused("This site can’t send email. Set it up under Settings → Mail first.", "email")
    email = email.lower()
    # Readers' addresses aren't confirmed: anybody could type a colleague's.
    if User.objects.filter(Q(email__iexact=email, is_staff=True) | Q(username__iexact=email)).exists():
        raise Refused(
            "Somebody with this address is a user already. Change their role on their page.", "email"
        )
    try:
        with transaction.atomic():
            user = User(username=email, email=email, is_active=False)
            user.set_unusable_password()
            user.save()
            give_role(user=user, role=role, newsletters=newsletters)
            _send_link(user, now)
    except IntegrityError as error:
        raise Refused("Somebody else has just invited this address.", "email") from error
    return user


def give_role(*, user: User, role: str, newsletters: Collection[Subscribable] | None) -> None:
    """`role`: one of Member.Role, EVERYTHING, or "" for the user's own permissions only. Raises Refused."""
    if newsletters is not None and role not in Member.Role.values:
        raise Refused("Only editors and senders can work for some newsletters only.", "newsletters")
    with transaction.atomic():
        user.is_superuser = role == EVERYTHING
        user.is_staff |= bool(role)
        user.save(update_fields=["is_superuser", "is_staff"])
        member, _ = Member.objects.update_or_create(
            user=user,
            defaults={"role": role if role != EVERYTHING else "", "is_limited": newsletters is not None},
        )
        member.newsletters.set(newsletters or ())


def role_of_user(user: User) -> str:
    return EVERYTHING if user.is_superuser else getattr(getattr(user, "member", None), "role", "")


def send_again(*, users: Iterable[int], now: datetime) -> str:
    """Email new links to users who haven't joined. The old ones stop working."""
    if sends_nothing():
        raise Refused("This site can’t send email. Set it up under Settings → Mail first.")
    with transaction.atomic():
        invited = list(_invited().filter(user__in=list(users)).select_related("user"))
        for member in invited:
            _send_link(member.user, now)
    return f"{pluralize(len(invited), 'invitation')} sent again. The links of earlier emails no longer work."


def withdraw(*, users: Iterable[int]) -> str:
    """Delete users who haven't joined."""
    with transaction.atomic():
        keys = list(_invited().filter(user__in=list(users)).values_list("pk", flat=True))
        User.objects.filter(pk__in=keys).delete()
    return f"{pluralize(len(keys), 'invitation')} withdrawn."


def _invited() -> "QuerySet[Member]":
    """Lock invitations, so that one isn't used and withdrawn at once."""
    return Member.objects.filter(expires_at__isnull=False).select_for_update(of=("self",))


def _send_link(user: User, now: datetime) -> None:
    key = secrets.token_urlsafe(32)
    expires_at = now + timedelta(days=INVITED_FOR_DAYS)
    Member.objects.filter(user=user).update(digest=digest(key), expires_at=expires_at)
    url = settings.SITE_URL + reverse("team_join", args=[key])
    context: MailFacts = {"invitation_url": url, "days": INVITED_FOR_DAYS}
    site_mail().send(address=user.email, template="team_invitation", context=context, now=now)


def invited(*, key: str, now: datetime) -> Member:
    """Raises InvitationOver."""
    member = Member.objects.filter(digest=digest(key)).select_related("user").first()
    if member is None or member.expires_at is None:
        raise InvitationOver("It was already used or withdrawn, or a newer one was sent.")
    if member.expires_at <= now:
        raise InvitationOver("It has expired.")
    return member


def accept(*, key: str, password: str, now: datetime) -> User:
    """Let the user in. Raises InvitationOver."""
    with transaction.atomic():
        # Of concurrent uses, one finds it used.
        list(_invited().filter(digest=digest(key)).values_list("pk"))
        member = invited(key=key, now=now)
        Member.objects.filter(pk=member.pk).update(digest="", expires_at=None)
        user = member.user
        user.is_active = True
        user.set_password(password)
        user.save(update_fields=["is_active", "password"])
    return user


class InvitationForm(forms.Form):
    password = forms.CharField(
        label="Choose a password",
        strip=False,
        help_text="At least 8 characters.",
        widget=UnfoldAdminPasswordWidget(
            attrs={"autocomplete": "new-password", "data-show": "Show", "autofocus": True}
        ),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        validate_password(password, self.user)
        return password


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Page of an invitation's link."""
    context: dict[str, Any] = {**admin.site.each_context(request), "title": "Join the team"}
    try:
        user = invited(key=token, now=utcnow()).user
        form = InvitationForm(request.POST or None, user=user)
        if request.method == "POST" and form.is_valid():
            login(
                request,
                accept(key=token, password=form.cleaned_data["password"], now=utcnow()),
                MODEL_BACKEND,
            )
            return HttpResponseRedirect(reverse("admin:index"))
        answer = render(request, "site/join.html", {**context, "form": form, "email": user.email})
    except InvitationOver as error:
        answer = render(request, "site/join.html", {**context, "problem": str(error)}, status=404)
    # With no-referrer, browsers send "Origin: null", which the CSRF check refuses.
    answer["Referrer-Policy"] = "same-origin"
    return answer
