"""How often a wrong password may be tried at the admin's sign-in, by network and by user name."""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from common.net.addresses import networks_of
from common.ports.site_mail import site_mail
from common.refused import Refused
from common.text import one_line, shortened
from delivery.letters.mails import ADMIN, PASSWORD_RESET
from subscriptions.rules.limits import Limit
from subscriptions.subscribers.rate_limits import CountedRequest, OverLimit, check_values, count_request

ASKED = "A new %s password was asked for from %s: %s"
RESETS_OF_NETWORK = Limit("admin reset ip", 10, timedelta(hours=1))
# Nobody can fill a mailbox, and another network gets a mail all the same.
OF_ADDRESS = Limit("admin reset to", 3, timedelta(days=1))
MOST_ACCOUNTS = 5
LONGEST_SHOWN = 150


def ask_for_reset(*, email: str, whose: str, ip: str, now: datetime, language: str = "") -> None:
    """Queues a mail with a link to each user of that address. What it does looks the same for every address.

    `whose`: ADMIN for those who may open the admin, READER for those who read here. Raises OverLimit when
    one network asked too often.
    """
    network = next(iter(networks_of(ip)))
    log.warning(ASKED, whose, ip, repr(shortened(one_line(email), LONGEST_SHOWN)))
    with transaction.atomic():
        count_request(check_values([(RESETS_OF_NETWORK, network)], now))
        try:
            count_request(check_values([(OF_ADDRESS, f"{email.lower()} {network}")], now))
        except OverLimit:
            return
        # Those who may sign in there with a password, and have that address.
        users = [user for user in PasswordResetForm().get_users(email) if isinstance(user, User)]
        for user in [each for each in users if _is_meant(each, whose)][:MOST_ACCOUNTS]:
            try:
                # The link is made when the mail is: neither the ledger nor a backup has it.
                site_mail().send(
                    address=user.email,
                    template=PASSWORD_RESET,
                    context={whose: user.pk},
                    now=now,
                    language=language,
                )
            except Refused as error:
                log.warning("a user's address cannot be written to: %s", error)


def _is_meant(user: User, whose: str) -> bool:
    return user.is_staff if whose == ADMIN else hasattr(user, "reader")


log = logging.getLogger(__name__)

OF_NETWORK = Limit("admin ip", 10, timedelta(hours=1))
OF_NAME = Limit("admin user", 20, timedelta(days=1))
LONGEST_USER_NAME = 150
FAILED = "Admin sign-in failed from %s: %s"
TOO_MANY = "Too many wrong passwords. Try again in an hour, or ask another admin for a new password."


def tries_left(request: HttpRequest, username: str) -> bool:
    """Whether a password may be tried now. Locks nothing."""
    try:
        _draws(request, username)
    except OverLimit:
        log.warning(FAILED, _address(request), "too many wrong passwords")
        return False
    return True


def count_wrong(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    """Receives user_login_failed. fail2ban, too, reads what is logged (docs/operating.md)."""
    if request is None:
        return
    username = str(credentials.get("username", ""))
    log.warning(FAILED, _address(request), repr(shortened(one_line(username), LONGEST_USER_NAME)))
    try:
        with transaction.atomic():
            count_request(_draws(request, username))
    except OverLimit:
        return  # another request used the last try meanwhile, so this one does not count


def watch() -> None:
    """Called once, at the start."""
    user_login_failed.connect(count_wrong, dispatch_uid="feedletter_site.password_limits")


def _draws(request: HttpRequest, username: str) -> list[CountedRequest]:
    network = next(iter(networks_of(_address(request))))
    user = get_user_model().objects.filter(username=username[:LONGEST_USER_NAME]).first()
    # With a new password the count begins anew: `manage.py changepassword` helps whomever others lock out.
    name = f"{username.lower()} {user.password if user else ''}"
    return check_values([(OF_NETWORK, network), (OF_NAME, name)], timezone.now())


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))
