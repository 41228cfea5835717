"""Sign-in by a mailed link, valid once for half an hour."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext, ngettext

from common.ports import channels
from common.rates import DAY, Limit, check_rows, count_rows, count_rows_within
from common.signing import TokenError
from subscriptions.branding.brands import site_facts
from subscriptions.models import Destination, Notice, SignIn, SignInRequest, Suppression
from subscriptions.rules.sign_up import A_DAY, AT_MOST_A_DAY, AT_MOST_EVERY, LONGEST_LANGUAGE
from subscriptions.subscribers.antispam import limits_of, sign_up_uses

MINUTES = 30
GOOD_FOR = timedelta(minutes=MINUTES)
SIGN_IN_CHANNEL = "email"
WAITS_FOR = timedelta(days=1)
# Before the address, if a user asks for a new password (delivery.letters.password_resets).
FOR_PASSWORD = "password:"  # noqa: S105 - a mark
# Links per day requested by one network for an address.
OF_ONE_NETWORK = Limit("sign-in", AT_MOST_A_DAY, DAY)


class SpentSignInLink(TokenError):
    """Used, expired or invalid link. The message is for the reader."""


@transaction.atomic
def ask_for_link(*, email: str, ip: str, now: datetime, language: str = "") -> None:
    """Store a request, the same way for known and unknown addresses.

    Counts towards the sign-up limit of `ip`. Raises InvalidDestination and OverLimit.
    """
    core = channels.get(SIGN_IN_CHANNEL).parse_destination({"email": email}).core
    count_rows(check_rows(sign_up_uses(ip=ip, scopes=("ip",)), now))
    SignInRequest.objects.create(core=core, ip=ip[:64], language=language[:LONGEST_LANGUAGE], asked_at=now)


def mail_links(*, now: datetime) -> int:
    """Return the number of requests."""
    wishes = SignInRequest.objects.exclude(core__startswith=FOR_PASSWORD).order_by("pk")
    total = 0
    while True:
        with transaction.atomic():
            # One per transaction: with several, workers might deadlock on the counts.
            wish = wishes.select_for_update(skip_locked=True).first()
            if wish is None:
                return total
            suppressions = Suppression.objects.filter(kind=SIGN_IN_CHANNEL, core=wish.core)
            if now - wish.asked_at < WAITS_FOR and not suppressions.exists():
                known = Destination.objects.filter(kind=SIGN_IN_CHANNEL, core=wish.core)
                for destination in known.filter(disabled_at=None, erased_at=None):
                    _mail_link(destination, wish, now=now)
            wish.delete()
        total += 1


def spoken_by(destination: Destination) -> str:
    spoken = destination.subscriptions.exclude(language="").order_by("-added_at", "-pk")
    return spoken.values_list("language", flat=True).first() or ""


def _mail_link(destination: Destination, wish: SignInRequest, *, now: datetime) -> None:
    """Mail at most one link in five minutes. Counts only mailed links, separately from sign-ups.

    The address's limit, which strangers can use up, holds only while the mailbox has a link to use.
    """
    # A concurrent request waits, then sees this one's link.
    list(Destination.objects.select_for_update(no_key=True).filter(pk=destination.pk).values_list("pk"))
    if destination.sign_ins.filter(asked_at__gt=now - AT_MOST_EVERY).exists():
        return
    uses = [*OF_ONE_NETWORK.by_network(wish.ip, wish.core)]
    if destination.sign_ins.filter(used_at=None, expires_at__gt=now).exists():
        limits = limits_of(settings.SIGN_UP_LIMITS)
        uses += [(limit, f"sign-in {wish.core}") for limit in limits if limit.name == "address"]
    if not count_rows_within(*uses, now=now):
        return
    language = spoken_by(destination) or wish.language
    token = secrets.token_urlsafe(32)
    SignIn.objects.create(
        digest=digest_of(token), destination=destination, asked_at=now, expires_at=now + GOOD_FOR
    )
    context = {"sign_in_url": f"{settings.SITE_URL}/sign-in/{token}/", "minutes": str(MINUTES)}
    write_for_site(destination, Notice.Kind.SIGN_IN, "sign_in", context, language=language, now=now)


def write_for_site(
    to: Destination,
    kind: Notice.Kind,
    template: str,
    context: dict[str, Any],
    *,
    language: str,
    now: datetime,
) -> None:
    """Request a mail about somebody's address."""
    # A stranger chooses no text in it.
    shared = {"newsletter": site_facts().name, "site_url": settings.SITE_URL}
    Notice.objects.create(
        kind=kind,
        key=f"{template}-{to.pk}-{now:%Y%m%dT%H%M%S.%f}",
        destination=to,
        template=template,
        language=language[:LONGEST_LANGUAGE],
        context={**shared, **context},
        created_at=now,
    )


def digest_of(token: str, kind: str = "sign_in") -> str:
    """Nobody can choose how a digest begins, so the time of a lookup reveals nothing."""
    return hashlib.sha256(f"feedletter.{kind}.v1:{token}".encode()).hexdigest()


def destination_of_link(*, token: str, now: datetime) -> Destination:
    """Changes nothing. Raises SpentSignInLink."""
    link = SignIn.objects.select_related("destination").filter(digest=digest_of(token)).first()
    if link is None:
        raise SpentSignInLink(gettext("This link is incomplete or expired long ago."))
    if link.used_at is not None:
        raise SpentSignInLink(_used())
    if link.expires_at <= now:
        message = ngettext(
            "This link has expired. It worked for %(n)s minute.",
            "This link has expired. It worked for %(n)s minutes.",
            MINUTES,
        )
        raise SpentSignInLink(message % {"n": MINUTES})
    return link.destination


def use_link(*, token: str, now: datetime) -> Destination:
    """Use the link; concurrently only one succeeds. Raises SpentSignInLink."""
    destination = destination_of_link(token=token, now=now)
    unused = SignIn.objects.filter(digest=digest_of(token), used_at=None, expires_at__gt=now)
    if not unused.update(used_at=now):
        raise SpentSignInLink(_used())
    return destination


def _used() -> str:
    return gettext("This link has already been used. It works only once.")


def forget_links(*, now: datetime) -> int:
    """Until deletion, pages explain links and limits count them."""
    return SignIn.objects.filter(asked_at__lt=now - 2 * A_DAY).delete()[0]
