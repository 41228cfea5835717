"""The addresses that readers get, absolute and under SITE_URL, and the subscription that each belongs to."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils.translation import gettext, gettext_noop

from common import signing
from subscriptions.models import Subscribable, Subscription

UNSUBSCRIBE = "unsubscribe"
MANAGE = "manage"
CONFIRM = "confirm"

GONE = gettext_noop("This subscription no longer exists, so there is nothing left to do.")


def page_url(subscribable: Subscribable) -> str:
    """The newsletter's page; empty for private ones, which have none."""
    if subscribable.visibility == Subscribable.Visibility.PRIVATE:
        return ""
    return f"{settings.SITE_URL}/s/{subscribable.name}/"


def unsubscribe_url_for(pk: int, token: str) -> str:
    """From the values of a Subscription, for the sender, which builds very many."""
    return f"{settings.SITE_URL}/unsubscribe/{signing.link_token(pk, token, UNSUBSCRIBE)}/"


def manage_url_for(pk: int, token: str) -> str:
    """From the values of a Subscription, for the sender, which builds very many."""
    return f"{settings.SITE_URL}/manage/{signing.link_token(pk, token, MANAGE)}/"


def unsubscribe_url(subscription: Subscription) -> str:
    return unsubscribe_url_for(subscription.pk, subscription.token)


def manage_url(subscription: Subscription) -> str:
    return manage_url_for(subscription.pk, subscription.token)


def confirm_url(*subscriptions: Subscription, now: datetime) -> str:
    """One link for all of them: good for CONFIRM_HOURS from `now`, for each as long as it keeps its nonce."""
    expires = now + timedelta(hours=settings.CONFIRM_HOURS)
    nonces: dict[str, str | int] = {str(each.pk): short_nonce(each) for each in subscriptions}
    return f"{settings.SITE_URL}/confirm/{signing.sign(CONFIRM, nonces, expires=expires)}/"


def short_nonce(subscription: Subscription) -> str:
    """Enough of the nonce to tell one sign-up from another. Against forged links there is the signature."""
    return subscription.confirm_nonce[:10]


def find(token: str, purpose: str) -> Subscription:
    """The subscription whose link token this is, with its newsletter and address. Raises TokenError."""
    pk = signing.link_pk(token)
    found = Subscription.objects.select_related("subscribable", "destination").filter(pk=pk).first()
    if found is None:
        raise signing.TokenError(gettext(GONE))
    signing.check_link(token, secret=found.token, purpose=purpose)
    return found
