"""What a subscriber may change about their own subscription."""

from subscriptions.models import Subscription
from subscriptions.rules.sign_up import tidy_name


def rename(*, subscription: Subscription, name: str) -> None:
    """Sets the name letters are addressed to; an empty one is fine."""
    subscription.display_name = tidy_name(name)
    subscription.save(update_fields=["display_name"])
