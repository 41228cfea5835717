"""Rows and look-ups of commands."""

from typing import Any

from django.core.management.base import CommandError

from common.cli.arguments import find
from common.cli.tables import fields_of
from reader.channels.channels import NoSuchChannel, channel_named, channel_of
from reader.models import AppPassword, Channel, Follow, Invitation, Reader, TimelineEntry, Token


def found_reader(name: str) -> Reader:
    reader: Reader = find(
        Reader.objects.select_related("user"), "reader", "Run “list_readers” to see all readers.", slug=name
    )
    return reader


def found_channel(reader: Reader, name: str) -> Channel:
    by_name = reader.channels.filter(name=name).first()
    try:
        return by_name or channel_of(reader, name)
    except NoSuchChannel as error:
        names = ", ".join(reader.channels.values_list("name", flat=True))
        raise CommandError(f"{reader} has no channel {name}. Channels: {names}.") from error


def wanted_channel(reader: Reader, name: str) -> Channel:
    """Return a channel by uid or name, created if missing. Raises Refused."""
    there = reader.channels.filter(uid=name).first()
    return there or channel_named(reader, name)


def reader_row(reader: Reader, *, channels: int, follows: int) -> dict[str, Any]:
    return {
        "name": reader.slug,
        "user": reader.user.get_username(),
        "channels": channels,
        "follows": follows,
        **fields_of(reader, "max_feeds made_at last_seen_at leaving_at"),
    }


def invitation_row(invitation: Invitation) -> dict[str, Any]:
    return {
        **fields_of(invitation, "id name made_at expires_at used_at"),
        "reader": invitation.reader.slug if invitation.reader else None,
        "revoked_at": invitation.revoked_at,
    }


def token_row(token: Token) -> dict[str, Any]:
    return fields_of(token, "id client client_id scopes made_at last_used_at revoked_at")


def app_password_row(password: AppPassword) -> dict[str, Any]:
    return fields_of(password, "id app made_at last_used_at revoked_at")


def channel_row(channel: Channel) -> dict[str, Any]:
    return fields_of(channel, "uid name unread_mode keep_days layout filters")


def follow_row(follow: Follow) -> dict[str, Any]:
    return {
        "channel": follow.channel.name,
        "feed": follow.feed_id,
        "url": follow.feed.url,
        "title": follow.name or follow.feed.title,
        "status": follow.feed.health,
        "added_at": follow.added_at,
    }


def entry_row(place: TimelineEntry, *, is_read: bool) -> dict[str, Any]:
    post = place.entry.jf2 or {}
    return {
        "id": place.pk,
        "channel": place.channel.name,
        "at": place.at,
        "read": is_read,
        "kind": place.entry.kind,
        "title": post.get("name") or post.get("content", {}).get("text", "")[:100],
        "url": post.get("url", ""),
    }
