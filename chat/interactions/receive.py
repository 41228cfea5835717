"""Answers within Discord's three seconds, or defers to a worker."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from chat.commands.context import Context, Handler, words_of
from chat.commands.feeds import ALL
from chat.commands.registry import BUTTONS, COMMANDS, FORMS, IN_PLACE, PUBLIC_BUTTONS, TAKE_ALL
from chat.discord.messages import MOST_CHOICES, PONG, Body, Later, Message, choices
from chat.guilds.feeds import suggestions
from chat.guilds.servers import know_guild, language_of, refuse_beyond_hourly, refuse_guild, refuse_haste
from chat.models import Interaction
from chat.rules.parse import AUTOCOMPLETE, COMMAND, COMPONENT, PING, ParsedInteraction, object_of, read
from chat.rules.permissions import manages
from common.refused import Refused

# Of the person, only id and permissions.
KEPT = (
    "id",
    "type",
    "guild_id",
    "channel_id",
    "channel",
    "app_permissions",
    "locale",
    "guild_locale",
    "data",
)
MEMBER_KEPT = ("roles", "permissions")


def answer_interaction(payload: Mapping[str, Any], *, now: datetime) -> Body:
    """Raises Malformed."""
    if payload.get("type") == PING:
        return {"type": PONG}
    asked = read(payload)
    if asked.kind == AUTOCOMPLETE:
        if not asked.guild_id:
            return choices([])
        typed = asked.fields.get(asked.focused, "")
        pairs = suggestions(asked.guild_id, typed)
        if asked.act in TAKE_ALL and ALL.startswith(typed.strip().casefold()):
            with translation.override(language_of(None, asked.locale, asked.guild_locale)):
                pairs = [*pairs[: MOST_CHOICES - 1], (_("All feeds"), ALL)]
        return choices(pairs)
    with translation.override(language_of(None, asked.locale, asked.guild_locale)):
        if not asked.guild_id:
            return Message(_("I only work in servers. Invite me to one of yours.")).answer()
        try:
            return _once(asked, payload, now)
        except (Refused, ValidationError) as error:
            return Message(words_of(error)).answer()


def _once(asked: ParsedInteraction, payload: Mapping[str, Any], now: datetime) -> Body:
    """Handle repetitions once. Raises Refused, which is counted."""
    with transaction.atomic():
        row, is_new = Interaction.objects.get_or_create(
            pk=asked.id,
            defaults={
                "guild_id": asked.guild_id,
                "user_id": asked.user_id,
                "act": asked.act[:20],
                "created_at": now,
                "next_try_at": now,
            },
        )
        if not is_new:
            return Message(_("That was already answered.")).answer()
        guild = know_guild(asked.guild_id, locale=asked.guild_locale, now=now)
    refuse_guild(guild)
    refuse_haste(user_id=asked.user_id, now=now)
    refuse_beyond_hourly(guild_id=asked.guild_id, act=asked.act, now=now)
    handler = handler_of(asked)
    if asked.kind != COMMAND and asked.act not in PUBLIC_BUTTONS and not manages(asked.permissions):
        # A role may have been granted the commands.
        return _later(row, asked, payload, Later())
    with transaction.atomic():
        result = handler(Context(asked, guild, now))
        if isinstance(result, Later):
            return _later(row, asked, payload, result)
    if isinstance(result, Message):
        return result.answer(in_place=asked.is_on_message and asked.act in IN_PLACE)
    return result.answer()


def handler_of(asked: ParsedInteraction) -> Handler:
    """Raises Refused."""
    if asked.kind == COMMAND:
        handler = COMMANDS.get(asked.command, {}).get(asked.act)
    else:
        handler = (BUTTONS if asked.kind == COMPONENT else FORMS).get(asked.act if asked.pressed else "")
    if handler is None:
        raise Refused(_("That has expired. Start again with `/feed list`."))
    return handler


def _later(row: Interaction, asked: ParsedInteraction, payload: Mapping[str, Any], result: Later) -> Body:
    """The rows are the queue."""
    kept = {name: payload[name] for name in KEPT if name in payload}
    member = object_of(payload.get("member"))
    kept["member"] = {name: member[name] for name in MEMBER_KEPT if name in member}
    kept["member"]["user"] = {"id": str(asked.user_id)}
    row.state, row.request, row.secrets = Interaction.State.WAITING, kept, {"token": asked.token}
    row.save(update_fields=["state", "request", "secrets"])
    return result.answer()
