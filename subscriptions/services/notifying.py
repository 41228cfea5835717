"""Writes the wish for a confirmation, or for the word that it is subscribed already."""

import hashlib
import secrets
from datetime import datetime

from django.conf import settings
from django.core.cache import cache

from subscriptions import links
from subscriptions.models import Notice, Subscription
from subscriptions.rules.sign_up import A_DAY, Answer

# Nothing in a context is text that a stranger chose: the newsletter's title is the admin's.


def ask_to_confirm(subscription: Subscription, *, now: datetime, language: str) -> None:
    """Within the caller's transaction. A nonce that is still waiting is kept: the earlier mail works too."""
    subscription.confirm_nonce = subscription.confirm_nonce or secrets.token_urlsafe(16)
    context = {
        "newsletter": str(subscription.subscribable),
        "confirm_url": links.confirm_url(subscription, now=now),
        "hours": str(settings.CONFIRM_HOURS),
        "page_url": links.page_url(subscription.subscribable),
    }
    _write(subscription, Answer.CONFIRM, context, now=now, language=language)


def say_already(subscription: Subscription, *, now: datetime, language: str) -> None:
    """Within the caller's transaction."""
    context = {
        "newsletter": str(subscription.subscribable),
        "manage_url": links.manage_url(subscription),
        "unsubscribe_url": links.unsubscribe_url(subscription),
        "page_url": links.page_url(subscription.subscribable),
    }
    _write(subscription, Answer.ALREADY, context, now=now, language=language)


def _write(
    subscription: Subscription, answer: Answer, context: dict[str, str], *, now: datetime, language: str
) -> None:
    subscription.last_notice_at = now
    subscription.save()
    Notice.objects.get_or_create(
        kind=Notice.Kind.CONFIRMATION,
        key=f"subscription-{subscription.pk}-{now:%Y%m%dT%H%M%S}",
        defaults={
            "destination": subscription.destination,
            "subscription": subscription,
            "template": answer.value,
            "language": language,
            "context": context,
            "created_at": now,
        },
    )


def history_key(subscribable_id: int, core: str) -> str:
    """Where the times are kept: a digest, for cores are long and nobody else's business."""
    return "notices:" + hashlib.sha256(f"{subscribable_id}:{core}".encode()).hexdigest()


def earlier_notices(key: str) -> list[datetime]:
    """When that address was written to lately. Outside transactions: the cache may be across a network."""
    return list(cache.get(key, ()))


def remember_notice(key: str, *, now: datetime) -> None:
    """Outside transactions. Two at once cannot pass: the five minutes are judged under the row's lock."""
    recent = [moment for moment in earlier_notices(key) if now - moment < A_DAY]
    cache.set(key, [*recent, now], A_DAY.total_seconds())
