"""Who may read here."""

import re
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from common.refused import Refused
from reader.channels.channels import drop_channel, first_channels
from reader.models import Entry, Reader

OFF, STAFF = "off", "staff"
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


@transaction.atomic
def add_reader(*, name: str, now: datetime, username: str = "") -> Reader:
    """A reader, and a user of that name if there is none. Raises Refused.

    `username`: of somebody who is a user already. A new user cannot sign in with a password.
    """
    slug = name.strip().lower()
    if not _SLUG.fullmatch(slug):
        raise Refused("Give a name of 1 to 40 small letters, digits and hyphens.", "name")
    if settings.READER == OFF:
        raise Refused("Reading is switched off (READER=off).", "name")
    if Reader.objects.filter(slug=slug).exists():
        raise Refused(f"There is a reader “{slug}” already.", "name")
    reader = Reader.objects.create(user=_user(username, slug), slug=slug, made_at=now)
    first_channels(reader)
    return reader


def drop_reader(*, reader: Reader, now: datetime) -> None:
    """Erases a reader with channels, marks and tokens. Feeds and posts that others follow stay.

    So does the user, who may be an admin.
    """
    reader.tokens.all().delete()
    for channel in reader.channels.filter(is_notifications=False):
        drop_channel(channel=channel, now=now)
    # (Others never see what was said of these pages.)
    Entry.objects.filter(mention__reader=reader).delete()
    reader.delete()


def may_read(reader: Reader) -> bool:
    """Whether the settings let this person in."""
    user = reader.user
    if settings.READER == OFF or not user.is_active:
        return False
    return settings.READER != STAFF or user.is_staff


def may_begin(user: Any) -> bool:
    """Whether a user of the site may make a reader of themselves; others are let in by `add_reader`."""
    match settings.READER:
        case "open":
            return bool(user.is_active)
        case "staff":
            return bool(user.is_active and user.is_staff)
        case "invited":
            return bool(user.is_active and user.is_superuser)
        case _:
            return False


def _user(username: str, slug: str) -> Any:
    users = get_user_model().objects
    if not username:
        if users.filter(username=slug).exists():
            raise Refused(f"There is a user “{slug}”. Name them with --user, or choose another name.", "name")
        return users.create_user(slug)
    user = users.filter(username=username).first()
    if user is None:
        raise Refused(f"There is no user “{username}”.", "username")
    if Reader.objects.filter(user=user).exists():
        raise Refused(f"“{username}” is a reader already.", "username")
    return user
