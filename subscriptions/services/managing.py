"""What a subscriber may change about their own subscription."""

from django.db import transaction

from subscriptions.models import Subscription
from subscriptions.models.subscription import random_token
from subscriptions.rules.sign_up import tidy_name
from subscriptions.services.lines import before, line_of


def rename(*, subscription: Subscription, name: str) -> None:
    """Sets the name letters are addressed to; an empty one is fine."""
    subscription.display_name = tidy_name(name)
    subscription.save(update_fields=["display_name"])


@transaction.atomic
def settle_details(*, subscription: Subscription, name: str, language: str | None = None) -> None:
    """The reader's own words for name and language, also for what it is being switched to.

    The language "" is the newsletter's; None leaves it as it is.
    """
    changes = {"display_name": tidy_name(name)}
    if language is not None:
        changes["language"] = language
    Subscription.objects.filter(pk__in=line_of(subscription)).update(**changes)
    subscription.refresh_from_db(fields=list(changes))


@transaction.atomic
def revoke_links(*, subscription: Subscription) -> None:
    """The links in all letters sent so far stop working, one-click included; new letters carry new ones."""
    keys = {subscription.pk} | before(subscription)
    for one in Subscription.objects.filter(pk__in=keys).order_by("pk"):
        one.token = random_token()
        one.save(update_fields=["token"])
    subscription.refresh_from_db(fields=["token"])
