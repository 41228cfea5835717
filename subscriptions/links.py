from datetime import datetime, timedelta

from django.conf import settings
from django.utils.translation import gettext, gettext_noop

from common import signing
from subscriptions.models import Subscribable, Subscription

UNSUBSCRIBE = "unsubscribe"
MANAGE = "manage"
CONFIRM = "confirm"

GONE = gettext_noop("This subscription no longer exists, so there’s nothing to do.")


def page_url(subscribable: Subscribable) -> str:
    """Return "" for a private newsletter."""
    if subscribable.visibility == Subscribable.Visibility.PRIVATE:
        return ""
    return f"{settings.SITE_URL}/s/{subscribable.name}/"


def unsubscribe_url_for(pk: int, token: str) -> str:
    """For the sender, which builds very many."""
    return f"{settings.SITE_URL}/unsubscribe/{signing.link_token(pk, token, UNSUBSCRIBE)}/"


def manage_url_for(pk: int, token: str) -> str:
    return f"{settings.SITE_URL}/manage/{signing.link_token(pk, token, MANAGE)}/"


def unsubscribe_url(subscription: Subscription) -> str:
    return unsubscribe_url_for(subscription.pk, subscription.token)


def manage_url(subscription: Subscription) -> str:
    return manage_url_for(subscription.pk, subscription.token)


def confirm_url(*subscriptions: Subscription, now: datetime) -> str:
    """Return a link valid for CONFIRM_HOURS, and for each while its nonce is unchanged."""
    expires = now + timedelta(hours=settings.CONFIRM_HOURS)
    nonces: dict[str, str | int] = {str(each.pk): short_nonce(each) for each in subscriptions}
    return f"{settings.SITE_URL}/confirm/{signing.sign(CONFIRM, nonces, expires=expires)}/"


def short_nonce(subscription: Subscription) -> str:
    """Enough to distinguish sign-ups: the signature prevents forgery."""
    return subscription.confirm_nonce[:10]


def find(token: str, purpose: str) -> Subscription:
    """Raises TokenError."""
    pk = signing.link_pk(token)
    subscription = Subscription.objects.select_related("subscribable", "destination").filter(pk=pk).first()
    if subscription is None:
        raise signing.TokenError(gettext(GONE))
    signing.check_link(token, secret=subscription.token, purpose=purpose)
    return subscription
