"""Signing in without an account: a link mailed to the address, good once and for half an hour."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext

from common import kinds
from common.signing import TokenError
from subscriptions.models import Destination, Notice, SignIn, Suppression
from subscriptions.rules.sign_up import A_DAY, may_write
from subscriptions.services.limiting import draws, take

MINUTES = 30
GOOD_FOR = timedelta(minutes=MINUTES)
CHANNEL = "email"
# Of the limits of sign-ups, those that hold here, too: they are counted together.
SCOPES = ("address", "ip")


class SpentLink(TokenError):
    """A sign-in link that was used, is too old, or never was one. The message is for the reader."""


def ask_for_link(*, email: str, ip: str, now: datetime, language: str = "") -> None:
    """Silent: whoever asks learns nothing about the address. One that is known here gets a link by mail.

    Raises InvalidDestination when it is no address at all, and OverLimit. Both are the same for addresses
    that are known and for those that are not.
    """
    core = kinds.get(CHANNEL).parse_destination({"email": email}).core
    _count(core=core, ip=ip, now=now)
    destination = _reachable(core)
    if destination is not None:
        _mail_link(destination, now=now, language=spoken_by(destination) or language)


def _count(*, core: str, ip: str, now: datetime) -> None:
    wanted = draws(core=core, ip=ip, subscribables=(), now=now)
    with transaction.atomic():
        take([draw for draw in wanted if draw.limit.scope in SCOPES])


def _reachable(core: str) -> Destination | None:
    """Who may be written to: not the suppressed, nor those where nothing arrives."""
    if Suppression.objects.filter(kind=CHANNEL, core=core).exists():
        return None
    return Destination.objects.filter(kind=CHANNEL, core=core, disabled_at=None, erased_at=None).first()


def spoken_by(destination: Destination) -> str:
    """The language of the newest subscription that has one."""
    spoken = destination.subscriptions.exclude(language="").order_by("-added_at", "-pk")
    return spoken.values_list("language", flat=True).first() or ""


@transaction.atomic
def _mail_link(destination: Destination, *, now: datetime, language: str) -> None:
    """Unless one went out in the last five minutes, or five in a day: nobody is flooded through us."""
    # Two at once: the second one sees the first one's link.
    list(Destination.objects.select_for_update(no_key=True).filter(pk=destination.pk).values_list("pk"))
    earlier = destination.sign_ins.filter(asked_at__gt=now - A_DAY).values_list("asked_at", flat=True)
    if not may_write(earlier=earlier, now=now):
        return
    token = secrets.token_urlsafe(32)
    link = SignIn.objects.create(
        digest=digest_of(token), destination=destination, asked_at=now, expires_at=now + GOOD_FOR
    )
    # Nothing in it is text that a stranger chose.
    context = {
        "newsletter": settings.SITE_HOST,
        "sign_in_url": f"{settings.SITE_URL}/sign-in/{token}/",
        "minutes": str(MINUTES),
        "site_url": settings.SITE_URL,
    }
    Notice.objects.create(
        kind=Notice.Kind.SIGN_IN,
        key=f"sign-in-{link.pk}",
        destination=destination,
        template="sign_in",
        language=language,
        context=context,
        created_at=now,
    )


def digest_of(token: str) -> str:
    """What is kept of a link. Looking it up takes no longer for a token that is nearly right: nobody can
    choose how a digest begins."""
    return hashlib.sha256(f"feedletter.sign_in.v1:{token}".encode()).hexdigest()


def awaiting(*, token: str, now: datetime) -> Destination:
    """Whom the link would let in. Changes nothing. Raises SpentLink."""
    link = SignIn.objects.select_related("destination").filter(digest=digest_of(token)).first()
    if link is None:
        raise SpentLink(gettext("This link is not complete, or is long over."))
    if link.used_at is not None:
        raise SpentLink(_used())
    if link.expires_at <= now:
        raise SpentLink(gettext("This link has expired: it was good for %(n)s minutes.") % {"n": MINUTES})
    return link.destination


def use_link(*, token: str, now: datetime) -> Destination:
    """Spends the link and says whom it lets in, once: of two at the same moment, one. Raises SpentLink."""
    destination = awaiting(token=token, now=now)
    unused = SignIn.objects.filter(digest=digest_of(token), used_at=None, expires_at__gt=now)
    if not unused.update(used_at=now):
        raise SpentLink(_used())
    return destination


def _used() -> str:
    return gettext("This link was used already: it works once.")


def forget_links(*, now: datetime) -> int:
    """Deletes those of two days ago: until then their page says what happened to them, and they count."""
    return SignIn.objects.filter(asked_at__lt=now - 2 * A_DAY).delete()[0]
