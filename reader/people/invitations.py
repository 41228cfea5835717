import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext

from common.ports.hooks import MailFacts, site_mail
from common.refused import Refused
from common.text import one_line
from reader.models import Invitation, Reader
from reader.people.readers import LONGEST_SLUG, STAFF, add_reader
from reader.people.tokens import digest_of

USUAL_DAYS, MOST_DAYS = 7, 90


class InvitationOver(Refused):
    """The message is for the invitation's holder."""


def invite(
    *,
    name: str,
    now: datetime,
    days: int = USUAL_DAYS,
    email: str = "",
    max_feeds: int | None = None,
    made_by: Any = None,
) -> tuple[Invitation, str]:
    """Return the row and a link, which is not stored; mail it to `email`. Raises Refused."""
    name = one_line(name)
    if not 1 <= len(name) <= LONGEST_SLUG:
        raise Refused(f"Say who it’s for, in at most {LONGEST_SLUG} characters.", "name")
    if not 1 <= days <= MOST_DAYS:
        raise Refused(f"Give 1 to {MOST_DAYS} days.", "days")
    if settings.READER == STAFF:
        raise Refused("With READER=staff there are no invitations.", "name")
    if email and not site_mail().is_sent():
        raise Refused("This site can’t send email. Leave this empty, and send the link yourself.", "email")
    key = secrets.token_urlsafe(32)
    link = settings.SITE_URL + reverse("reader:invitation", args=[key])
    with transaction.atomic():
        invitation = Invitation.objects.create(
            name=name,
            digest=digest_of(key),
            max_feeds=max_feeds,
            made_by=made_by,
            made_at=now,
            expires_at=now + timedelta(days=days),
        )
        if email:
            context: MailFacts = {"invitation_url": link, "days": days}
            site_mail().send(address=email, template="invitation", context=context, now=now)
    return invitation, link


def open_invitation(*, key: str, now: datetime) -> Invitation:
    """Raises InvitationOver."""
    invitation = Invitation.objects.filter(digest=digest_of(key)).first()
    if invitation is None:
        raise InvitationOver(gettext("Invitation not found. Copy the whole link."))
    if why := why_over(invitation, now=now):
        raise InvitationOver(str(why))
    return invitation


def why_over(invitation: Invitation, *, now: datetime) -> str:
    """Return a message for the holder, or ""."""
    if invitation.used_at is not None:
        return gettext("This invitation was already used.")
    if invitation.revoked_at is not None:
        return gettext("This invitation was revoked.")
    if invitation.expires_at <= now:
        return gettext("This invitation has expired.")
    if settings.READER == STAFF:
        return gettext("The reader isn’t open to anyone at the moment.")
    return ""


def accept(*, key: str, name: str, now: datetime, **user: str) -> Reader:
    """Accept as a stranger, or as the user `username`. Raises InvitationOver and Refused.

    `user` has arguments of `add_reader`.
    """
    with transaction.atomic():
        # Of concurrent uses, one finds it used.
        list(Invitation.objects.filter(digest=digest_of(key)).select_for_update().values_list("pk"))
        invitation = open_invitation(key=key, now=now)
        reader = add_reader(name=name, now=now, max_feeds=invitation.max_feeds, **user)
        Invitation.objects.filter(pk=invitation.pk).update(used_at=now, reader=reader)
    return reader


def revoke_invitations(*, invitations: Iterable[int], now: datetime) -> int:
    """Revoke unused invitations."""
    rows = Invitation.objects.filter(pk__in=list(invitations), used_at=None, revoked_at=None)
    return rows.update(revoked_at=now)
