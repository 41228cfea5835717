"""A forgotten password: a link by mail, and the same answer whoever asks for whom."""

import logging
from datetime import datetime, timedelta

from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.db import transaction

from common.net.addresses import networks_of
from common.ports.site_mail import site_mail
from common.refused import Refused
from common.text import one_line, shortened
from delivery.letters.password_reset import ADMIN, PASSWORD_RESET
from subscriptions.rules.limits import Limit
from subscriptions.subscribers.rate_limits import OverLimit, check_values, count_request

log = logging.getLogger(__name__)

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
