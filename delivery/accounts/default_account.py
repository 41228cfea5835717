"""The mail account that carries what names none, and the usual sender. What the environment says wins."""

from django.conf import settings

from channels.email.account_url import UNREADABLE
from channels.rules.accounts import DEFAULT_ACCOUNT
from common.secrets import opened
from delivery.models import Account
from subscriptions.models import Subscribable


def default_account() -> Account | None:
    """The account that was made the default. None while EMAIL_URL is set, which wins."""
    if "EMAIL_URL" in settings.GIVEN:
        return None
    return Account.objects.mail().filter(is_default=True).first()


def default_url() -> str:
    """The URL of the default account, with its password; empty where settings.EMAIL_URL is what counts.

    UNREADABLE when SECRET_KEY has changed: letters wait then, and are not taken for ones to keep here.
    """
    account = default_account()
    return (secret_url(account) or UNREADABLE) if account else ""


def secret_url(account: Account) -> str:
    """The account's URL, with the password. Empty when SECRET_KEY has changed."""
    try:
        return opened(account.secrets).get("url", "")
    except ValueError:
        return ""


def keeps_letters() -> bool:
    """Whether what names no account is kept for the mailbox page, and not sent."""
    return settings.EMAIL_URL.startswith("mailbox:") and default_account() is None


def sends_nothing() -> bool:
    """Whether nothing is set up: neither a server nor the mailbox."""
    return not settings.EMAIL_URL and default_account() is None


def usual_sender(account: str = "") -> str:
    """Who a mail through that account (empty: the default) comes from where a newsletter says nothing."""
    if account and account != DEFAULT_ACCOUNT:
        row = Account.objects.mail().filter(name=account).first()
    else:
        row = None if "DEFAULT_FROM_EMAIL" in settings.GIVEN else default_account()
    return (row.sender if row else "") or settings.DEFAULT_FROM_EMAIL


def sender_of(subscribable: Subscribable) -> str:
    """Who its letters come from: what it says, or the usual sender of its mail account.

    Nobody where its channel is not e-mail: a post is signed by the account that it is made with.
    """
    if subscribable.channel != "email":
        return ""
    return subscribable.from_email or usual_sender(subscribable.options.get("account", ""))
