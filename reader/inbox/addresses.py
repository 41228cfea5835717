import re
import secrets
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from common.refused import TranslatedRefusal
from reader.models import Channel, MailAddress, MailSource, Reader

MOST_ADDRESSES = 20
KEY_LETTERS, KEY_LENGTH = "abcdefghijklmnopqrstuvwxyz234567", 20
LOCAL_PART = re.compile(rf"read[+-]([a-z2-7]{{{KEY_LENGTH}}})", re.IGNORECASE)


def is_offered() -> bool:
    """Return whether this site gets mail."""
    return bool(settings.BOUNCE_DOMAIN)


def recipient_of(address: MailAddress) -> str:
    return f"read+{address.key}@{settings.BOUNCE_DOMAIN}"


def page_of(source: MailSource | None) -> str:
    """Return the address of a source's feed, which leads its reader to the page of sources."""
    query = f"?source={source.pk}-{_new_key()}" if source else "?source="
    return settings.SITE_URL + reverse("reader:mail") + query


@transaction.atomic
def add_address(*, reader: Reader, channel: Channel | None, asks_first: bool, now: datetime) -> MailAddress:
    """Raises Refused."""
    Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
    if not is_offered():
        raise TranslatedRefusal(gettext("This site doesn’t receive email."))
    if reader.mail_addresses.count() >= MOST_ADDRESSES:
        words = ngettext(
            "You can have at most %(most)s address. Delete it first.",
            "You can have at most %(most)s addresses. Delete one first.",
            MOST_ADDRESSES,
        )
        raise TranslatedRefusal(words % {"most": MOST_ADDRESSES})
    return MailAddress.objects.create(
        reader=reader, channel=channel, key=_new_key(), asks_first=asks_first, made_at=now
    )


def alter_address(*, address: MailAddress, channel: Channel | None, asks_first: bool) -> None:
    address.channel, address.asks_first = channel, asks_first
    address.save(update_fields=["channel", "asks_first"])


def replace_key(*, address: MailAddress, now: datetime) -> None:
    """Mail to the old address is refused from now on."""
    address.key, address.made_at, address.problem = _new_key(), now, ""
    address.save(update_fields=["key", "made_at", "problem"])


def _new_key() -> str:
    """Return 100 bits that hosts which change the case don't destroy."""
    return "".join(secrets.choice(KEY_LETTERS) for _ in range(KEY_LENGTH))
