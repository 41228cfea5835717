import logging
from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError

from chat.discord.api import KIND
from common.ports.channels import InvalidDestination
from delivery.accounts.accounts import add_service_account, alter_service_account, stored_values
from delivery.models import ServiceAccount

log = logging.getLogger(__name__)

ACCOUNT_NAME = "discord"


def renew_token(*, now: datetime) -> None:
    account = ServiceAccount.objects.filter(kind=KIND, name=ACCOUNT_NAME).exists()
    if account and settings.DISCORD_BOT_TOKEN:
        try:
            ensure_account(now=now)
        except (InvalidDestination, ValidationError) as error:
            log.warning("Discord rejected the bot's token: %s", error)


def ensure_account(*, now: datetime) -> ServiceAccount:
    """Return the account, checked if the token is new (network).

    Raises InvalidDestination and ValidationError.
    """
    values = {"token": settings.DISCORD_BOT_TOKEN}
    account = ServiceAccount.objects.filter(kind=KIND, name=ACCOUNT_NAME).first()
    if account is None:
        return add_service_account(kind=KIND, name=ACCOUNT_NAME, values=values, now=now)
    if stored_values(account) != values:
        return alter_service_account(account=account, values=values, now=now)
    return account
