import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from common.ports.site_mail import site_mail
from common.rates import DAY, HOUR, Limit, OverLimit, Use, check_rows, count_rows, count_rows_within
from common.refused import Refused
from common.text import one_line, shortened
from delivery.letters.mails import PASSWORD_RESET

ASKED = "A new password was asked for from %s: %s"
RESETS_OF_NETWORK = Limit("reset ip", 10, HOUR)
# Protects mailboxes, and other networks still get a mail.
OF_ADDRESS = Limit("reset to", 3, DAY)
MOST_ACCOUNTS = 5
LONGEST_SHOWN = 150


def ask_for_reset(*, email: str, ip: str, now: datetime, language: str = "") -> None:
    """Queue a mail for each user of the address, with the same result for every address.

    Raises OverLimit if the network asked too often.
    """
    log.warning(ASKED, ip, repr(shortened(one_line(email), LONGEST_SHOWN)))
    with transaction.atomic():
        count_rows(check_rows(RESETS_OF_NETWORK.by_network(ip), now))
        if not count_rows_within(*OF_ADDRESS.by_network(ip, email.lower()), now=now):
            return
        # Active users with a usable password.
        users = [user for user in PasswordResetForm().get_users(email) if isinstance(user, User)]
        for user in users[:MOST_ACCOUNTS]:
            try:
                # The link is created with the mail, so neither database nor backups contain it.
                site_mail().send(
                    address=user.email,
                    template=PASSWORD_RESET,
                    context={"user": user.pk},
                    now=now,
                    language=language,
                )
            except Refused as error:
                log.warning("a user's address cannot be written to: %s", error)


log = logging.getLogger(__name__)

OF_NETWORK = Limit("sign-in ip", 10, HOUR)
OF_NAME = Limit("sign-in user", 20, DAY)
LONGEST_USER_NAME = 150
FAILED = "Sign-in failed from %s: %s"


def tries_left(request: HttpRequest, username: str) -> bool:
    """Check without a lock."""
    try:
        check_rows(_uses(request, username), timezone.now())
    except OverLimit:
        log.warning(FAILED, _address(request), "too many wrong passwords")
        return False
    return True


def count_wrong(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    """Receive user_login_failed. fail2ban reads the log, too (docs/operating/run.md)."""
    if request is None:
        return
    username = str(credentials.get("username", ""))
    log.warning(FAILED, _address(request), repr(shortened(one_line(username), LONGEST_USER_NAME)))
    # If refused, a concurrent request used the last try.
    count_rows_within(*_uses(request, username), now=timezone.now())


def watch() -> None:
    user_login_failed.connect(count_wrong, dispatch_uid="feedletter_site.password_limits")


def _uses(request: HttpRequest, username: str) -> Iterator[Use]:
    user = get_user_model().objects.filter(username=username[:LONGEST_USER_NAME]).first()
    # A new password resets the count, so `manage.py changepassword` helps users whom others lock out.
    yield from OF_NETWORK.by_network(_address(request))
    yield OF_NAME, f"{username.lower()} {user.password if user else ''}"


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))
