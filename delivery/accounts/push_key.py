"""The key that push services know this site by. Every device is bound to it for good."""

from functools import lru_cache

from channels.webpush.keys import base64url, new_private_key, point_of, private_key_of
from channels.webpush.session import DEVICES, WebPushChannel
from common.secrets import opened
from delivery.models import Account


def push_public_key() -> str:
    """The key as pages give it to browsers, in base64url; made at first use. Raises ValueError when it cannot
    be read any more: another would be of no use to the devices there are.

    Of two processes that make it at once the second takes the first one's.
    """
    row = Account.objects.filter(kind=WebPushChannel.key, name=DEVICES).first()
    if row is None:
        made = {"secrets": {"private": new_private_key()}}
        row, _ = Account.objects.get_or_create(kind=WebPushChannel.key, name=DEVICES, defaults=made)
    return _public(opened(row.secrets)["private"])


@lru_cache(maxsize=2)
def _public(private: str) -> str:
    return base64url(point_of(private_key_of(private).public_key()))
