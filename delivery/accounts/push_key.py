"""The site's key for push services, to which every device is permanently bound."""

from functools import lru_cache

from channels.webpush.channel import DEVICES, WebPushChannel
from channels.webpush.keys import base64url, new_private_key, point_of, private_key_of
from common.secrets import opened
from delivery.models import Account


def push_public_key() -> str:
    """Return the key for browsers in base64url, created at first use.

    Raises ValueError if unreadable: existing devices need this key. The first of concurrent processes wins.
    """
    row = Account.objects.filter(kind=WebPushChannel.key, name=DEVICES).first()
    if row is None:
        made = {"secrets": {"private": new_private_key()}}
        row, _ = Account.objects.get_or_create(kind=WebPushChannel.key, name=DEVICES, defaults=made)
    return _public(opened(row.secrets)["private"])


@lru_cache(maxsize=2)
def _public(private: str) -> str:
    return base64url(point_of(private_key_of(private).public_key()))
