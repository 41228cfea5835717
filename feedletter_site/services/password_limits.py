"""How often a wrong password may be tried at the admin's sign-in, by network and by user name."""

import logging
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_login_failed
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from common.net.addresses import networks_of
from common.text import one_line, shortened
from subscriptions.rules.limits import Limit
from subscriptions.subscribers.rate_limits import CountedRequest, OverLimit, check_values, count_request

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
