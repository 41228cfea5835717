import logging
from collections import defaultdict
from datetime import datetime

from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.db import transaction

from common.ports.hooks import site_mail
from common.rates import DAY, HOUR, Limit, check_rows, count_rows, count_rows_within
from common.refused import Refused
from common.text import one_line, shortened
from delivery.letters.pages import PASSWORD_RESET
from subscriptions.models import SignInRequest
from subscriptions.subscribers.sign_in import FOR_PASSWORD, WAITS_FOR

log = logging.getLogger(__name__)

ASKED = "A new password was asked for from %s: %s"
RESETS_OF_NETWORK = Limit("reset ip", 10, HOUR)
# Protects mailboxes, and other networks still get a mail.
OF_ADDRESS = Limit("reset to", 3, DAY)
MOST_ACCOUNTS = 5
LONGEST_SHOWN = 150


def ask_for_reset(*, email: str, ip: str, now: datetime, language: str = "") -> None:
    """Store a request, the same way for known and unknown addresses.

    Raises OverLimit if the network asked too often.
    """
    log.warning(ASKED, ip, repr(shortened(one_line(email), LONGEST_SHOWN)))
    with transaction.atomic():
        count_rows(check_rows(RESETS_OF_NETWORK.by_network(ip), now))
        if count_rows_within(*OF_ADDRESS.by_network(ip, email.lower()), now=now):
            SignInRequest.objects.create(core=FOR_PASSWORD + email, language=language, asked_at=now)


@transaction.atomic
def mail_resets(*, now: datetime) -> None:
    """Queue a mail for each request that lists the users of the address."""
    wishes = SignInRequest.objects.filter(core__startswith=FOR_PASSWORD).order_by("pk")
    wishes.filter(asked_at__lte=now - WAITS_FOR).delete()
    for wish in wishes.select_for_update(skip_locked=True):
        # Active users with a usable password.
        found = PasswordResetForm().get_users(wish.core.removeprefix(FOR_PASSWORD))
        users = [user for user in found if isinstance(user, User)]
        # Anyone may add a reader with this address.
        users.sort(key=lambda user: (not user.is_superuser, not user.is_staff, user.date_joined, user.pk))
        by_address = defaultdict[str, list[int]](list)
        for user in users[:MOST_ACCOUNTS]:
            by_address[user.email].append(user.pk)
        for address, (first, *others) in by_address.items():
            try:
                # The link is created with the mail, so neither database nor backups contain it.
                site_mail().send(
                    address=address,
                    template=PASSWORD_RESET,
                    context={"user": first, **({"others": " ".join(map(str, others))} if others else {})},
                    now=now,
                    language=wish.language,
                )
            except Refused as error:
                log.warning("a user's address cannot be written to: %s", error)
        wish.delete()
