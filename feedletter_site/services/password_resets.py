"""A forgotten password of the admin: a link by mail, and the same answer whoever asks for whom."""

import logging
import uuid
from datetime import datetime, timedelta

from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.db import transaction

from common.ports import channels
from common.ports.channels import InvalidDestination
from common.text import one_line, shortened
from delivery.lanes.lanes import mail_to
from delivery.models import Delivery
from subscriptions.models import Destination
from subscriptions.rules.limits import Limit, networks_of
from subscriptions.subscribers.rate_limits import OverLimit, check_values, count_request

log = logging.getLogger(__name__)

ASKED = "A new admin password was asked for from %s: %s"
RESETS_OF_NETWORK = Limit("admin reset ip", 10, timedelta(hours=1))
# Nobody can fill an admin's mailbox, and another network gets a mail all the same.
OF_ADDRESS = Limit("admin reset to", 3, timedelta(days=1))
MOST_ACCOUNTS = 5
LONGEST_SHOWN = 150


def ask_for_reset(*, email: str, ip: str, now: datetime) -> None:
    """Queues a mail with a link to each admin of that address. What it does looks the same for every address.

    Raises OverLimit when one network asked too often.
    """
    network = next(iter(networks_of(ip)))
    log.warning(ASKED, ip, repr(shortened(one_line(email), LONGEST_SHOWN)))
    with transaction.atomic():
        count_request(check_values([(RESETS_OF_NETWORK, network)], now))
        try:
            count_request(check_values([(OF_ADDRESS, f"{email.lower()} {network}")], now))
        except OverLimit:
            return
        # Those who may sign in to the admin with a password, and have that address.
        users = PasswordResetForm().get_users(email)
        for user in [each for each in users if isinstance(each, User) and each.is_staff][:MOST_ACCOUNTS]:
            _queue(user, now)


def _queue(user: User, now: datetime) -> None:
    try:
        parsed = channels.get("email").parse_destination({"email": user.email})
    except InvalidDestination as error:
        log.warning("an admin's address cannot be written to: %s", error)
        return
    destination, _ = Destination.objects.get_or_create(
        kind="email",
        core=parsed.core,
        defaults={"label": parsed.label, "config": parsed.config, "added_at": now},
    )
    # The link is made when the mail is: neither the ledger nor a backup has it.
    mail = mail_to(
        destination,
        kind=Delivery.Kind.ALERT,
        key=f"password:{user.pk}:{uuid.uuid4().hex}",
        template="password_reset",
        context={"admin": user.pk},
        now=now,
    )
    mail.save(force_insert=True)
