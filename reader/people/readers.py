import re
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext

from common.passes import TimeBudget
from common.ports.channel_letters import letter_newsletters
from common.ports.hooks import site_mail
from common.refused import Refused
from feeds.models import Feed
from reader.channels.channels import HOME, NOTIFICATIONS, drop_channel, empty_channel
from reader.models import Entry, Reader

STAFF, OPEN = "staff", "open"
LONGEST_SLUG = 40
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


class NameTaken(Refused):
    pass


def add_reader(
    *,
    name: str,
    now: datetime,
    username: str = "",
    password: str = "",
    email: str = "",
    max_feeds: int | None = None,
) -> Reader:
    """Add a reader, and a new user unless `username` is given. Raises Refused.

    `password` comes from `make_password`, which is too slow for a transaction.
    """
    slug = name.strip().lower()
    if not _SLUG.fullmatch(slug):
        raise Refused(gettext("Enter a name of 1 to 40 lower-case letters, digits and hyphens."), "name")
    if Reader.objects.filter(slug=slug).exists():
        raise NameTaken(f"The reader “{slug}” already exists.", "name")
    try:
        with transaction.atomic():
            user = _known_user(username) if username else _new_user(slug, password, email)
            reader = Reader.objects.create(user=user, slug=slug, made_at=now, max_feeds=max_feeds)
            reader.channels.create(uid=NOTIFICATIONS, name="Notifications", is_notifications=True)
            reader.channels.create(uid=HOME, name="Home")
    except IntegrityError as error:
        raise NameTaken(f"Someone just took the name “{slug}”.", "name") from error
    return reader


def may_read(reader: Reader) -> bool:
    """Return whether settings and user allow reading."""
    user = reader.user
    if not user.is_active or reader.leaving_at is not None:
        return False
    return settings.READER != STAFF or user.is_staff


def reading(**lookup: Any) -> Reader | None:
    """Return the reader, if they may read."""
    reader = Reader.objects.select_related("user").filter(**lookup).first()
    return reader if reader is not None and may_read(reader) else None


def may_begin(user: Any) -> bool:
    """Return whether a user may become a reader without invitation."""
    admitted = {OPEN: True, STAFF: user.is_staff, "invited": user.is_superuser}
    return bool(user.is_active and admitted.get(settings.READER, False))


def note_seen(*, reader: Reader, now: datetime) -> None:
    """Record a visit by the hour."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    if reader.last_seen_at is None or reader.last_seen_at < hour:
        Reader.objects.filter(pk=reader.pk).update(last_seen_at=hour)


def set_max_feeds(*, reader: Reader, max_feeds: int | None) -> None:
    """None means READER_MAX_FEEDS. Follows above the limit stay."""
    reader.max_feeds = max_feeds
    reader.save(update_fields=["max_feeds"])


def leave(*, reader: Reader, now: datetime) -> None:
    """Deny access at once; `erase_leavers` deletes maybe a million rows later."""
    with transaction.atomic():
        Reader.objects.filter(pk=reader.pk, leaving_at=None).update(leaving_at=now)
        reader.tokens.all().delete()
        reader.app_passwords.all().delete()
        reader.compositions.filter(due_at__isnull=False).update(due_at=None)
        get_user_model().objects.filter(pk=reader.user_id, is_staff=False).update(is_active=False)


def erase_leavers(*, now: datetime, budget: timedelta | None = None) -> int:
    """Erase readers who left, and their users unless they are staff or in the admin's log."""
    left, erased = TimeBudget(budget), 0
    for reader in Reader.objects.exclude(leaving_at=None).select_related("user").order_by("leaving_at", "pk"):
        if left.is_spent:
            break
        user = reader.user
        drop_reader(reader=reader, now=now)
        if not user.is_staff and not LogEntry.objects.filter(user=user).exists():
            with transaction.atomic():
                user.delete()
                site_mail().forget(user.email)
        erased += 1
    return erased


def drop_reader(*, reader: Reader, now: datetime) -> None:
    """The user stays, as do feeds and posts that others follow."""
    reader.tokens.all().delete()
    reader.app_passwords.all().delete()
    for channel in reader.channels.all():
        if channel.is_notifications:
            letter_newsletters().drop(channel, now=now)
            empty_channel(channel)
        else:
            drop_channel(channel=channel, now=now)
    # Only this reader saw them.
    Entry.objects.filter(Q(mention__reader=reader) | Q(feed__mail_source__reader=reader)).delete()
    Feed.objects.filter(mail_source__reader=reader).delete()
    reader.delete()


def _known_user(username: str) -> Any:
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise Refused(f"There is no user “{username}”.", "username")
    if Reader.objects.filter(user=user).exists():
        raise Refused(f"“{username}” already uses the reader.", "username")
    return user


def _new_user(slug: str, password: str, email: str) -> Any:
    users = get_user_model().objects
    if users.filter(username__iexact=slug).exists():
        message = f"The user “{slug}” already exists. Name it with --user, or choose another name."
        raise NameTaken(message, "name")
    return users.create(
        username=slug, password=password or make_password(None), email=users.normalize_email(email)
    )
