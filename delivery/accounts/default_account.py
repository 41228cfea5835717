"""Default mail account and sender. The environment has precedence."""

from django.conf import settings

from channels.email.account_url import UNREADABLE
from channels.rules.accounts import DEFAULT_ACCOUNT
from common.secrets import opened
from delivery.models import Account
from subscriptions.models import Subscribable


def default_account() -> Account | None:
    """Return None while EMAIL_URL is set."""
    if "EMAIL_URL" in settings.GIVEN:
        return None
    return Account.objects.mail().filter(is_default=True).first()


def default_url() -> str:
    """Return the default account's URL, with the password; "" if settings.EMAIL_URL applies.

    UNREADABLE after a change of SECRET_KEY: letters wait then and are not stored here.
    """
    account = default_account()
    return (secret_url(account) or UNREADABLE) if account else ""


def secret_url(account: Account) -> str:
    """Return the URL with the password; "" after a change of SECRET_KEY."""
    try:
        return opened(account.secrets).get("url", "")
    except ValueError:
        return ""


def keeps_letters() -> bool:
    """Return whether mail without an account is stored, not sent."""
    return settings.EMAIL_URL.startswith("mailbox:") and default_account() is None


def sends_nothing() -> bool:
    """Return whether neither server nor mailbox is set up."""
    return not settings.EMAIL_URL and default_account() is None


def usual_sender(account: str = "") -> str:
    """Return the account's sender ("": the default's) for newsletters without one."""
    if account and account != DEFAULT_ACCOUNT:
        row = Account.objects.mail().filter(name=account).first()
    else:
        row = None if "DEFAULT_FROM_EMAIL" in settings.GIVEN else default_account()
    return (row.sender if row else "") or settings.DEFAULT_FROM_EMAIL


def sender_of(subscribable: Subscribable) -> str:
    """Return the newsletter's or its account's sender.

    "" for other channels than email, where the account signs.
    """
    if subscribable.channel != "email":
        return ""
    return subscribable.from_email or usual_sender(subscribable.options.get("account", ""))
