"""Deferred interactions. The rows are the queue."""

import logging
import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connections, transaction
from django.utils import translation
from django.utils.translation import gettext as _

from chat.commands.context import Context, words_of
from chat.commands.registry import FORM_COMMANDS, PUBLIC_BUTTONS, WORK
from chat.discord.api import ACKNOWLEDGED, UNKNOWN_INTERACTION, UNKNOWN_WEBHOOK, ApiRefused, answer_later
from chat.discord.messages import Body, Message, body_of
from chat.guilds.rights import is_granted
from chat.guilds.servers import know_guild, language_of
from chat.interactions.receive import handler_of
from chat.models import Interaction
from chat.rules.parse import COMMAND, ParsedInteraction, read
from chat.rules.permissions import manages
from common.clock import utcnow
from common.db.leases import RELEASED
from common.passes import TimeBudget
from common.refused import Refused
from common.secrets import opened

log = logging.getLogger(__name__)

# Discovery has 10 s, requests to Discord 15 s.
WORK_LEASE = timedelta(seconds=90)
TOKEN_LIVES = timedelta(minutes=15)
# "is thinking …" may not be there yet.
NOT_YET = timedelta(seconds=1)
MOST_NOT_YET = 3
# Concurrent requests, as sites may be slow.
SITES_AT_A_TIME = 3
KEEP = timedelta(days=2)


def answer_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    left, done = TimeBudget(budget), 0
    running: set[Future[bool]] = set()
    with ThreadPoolExecutor(SITES_AT_A_TIME, thread_name_prefix="chat") as pool:
        while True:
            free = SITES_AT_A_TIME - len(running)
            rows = _claimed(free, clock()) if free and not left.is_spent else []
            running |= {pool.submit(_worked, row, clock) for row in rows}
            if not running:
                return done
            ended, running = wait(running, timeout=0.25, return_when=FIRST_COMPLETED)
            done += sum(future.result() for future in ended)


def _claimed(count: int, now: datetime) -> list[Interaction]:
    if not Interaction.objects.due(now).exists():
        return []
    with transaction.atomic():
        due = Interaction.objects.due(now).order_by("created_at", "pk")
        rows = list(due.select_for_update(skip_locked=True)[:count])
        token = uuid.uuid4()
        for row in rows:
            row.lease_token, row.lease_until = token, now + WORK_LEASE
            row.attempts += 1
            row.save(update_fields=["lease_token", "lease_until", "attempts"])
    return rows


def _worked(row: Interaction, clock: Callable[[], datetime]) -> bool:
    """Return whether it was answered. Runs in a thread."""
    try:
        return _answered(row, clock)
    except Exception:
        log.exception("could not answer an interaction", extra={"interaction": row.pk})
        again = clock() + timedelta(seconds=5)
        _release(row, next_try_at=again, last_error="An unexpected error occurred.")
        return False
    finally:
        connections.close_all()


def _answered(row: Interaction, clock: Callable[[], datetime]) -> bool:
    asked = read(row.request)
    token = opened(row.secrets).get("token", "")
    if row.answer is None:
        row.answer = _work(row, asked, clock)
        # No other worker must repeat the work.
        Interaction.objects.filter(pk=row.pk, lease_token=row.lease_token).update(answer=row.answer)
    now = clock()
    try:
        answer_later(token, row.answer)
    except ApiRefused as error:
        is_late = now - row.created_at > TOKEN_LIVES
        is_early = error.code == UNKNOWN_WEBHOOK and row.attempts <= MOST_NOT_YET
        is_over = error.code in (UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, ACKNOWLEDGED) or not error.is_temporary
        if not is_late and (is_early or not is_over):
            wait_for = NOT_YET if is_early else timedelta(seconds=min(2**row.attempts, 60))
            _release(row, next_try_at=now + wait_for, last_error=str(error))
            return False
        _release(row, state=Interaction.State.DONE, secrets="", last_error=str(error))
        return True
    _release(row, state=Interaction.State.DONE, secrets="", last_error="")
    return True


def _work(row: Interaction, asked: ParsedInteraction, clock: Callable[[], datetime]) -> Body:
    now = clock()
    guild = know_guild(asked.guild_id, locale=asked.guild_locale, now=now)
    with translation.override(language_of(guild, asked.locale, asked.guild_locale)):
        try:
            return body_of(_said(Context(asked, guild, now), row).body)
        except (Refused, ValidationError) as error:
            return body_of(Message(words_of(error)).body)


def _said(context: Context, row: Interaction) -> Message:
    """Raises Refused and ValidationError."""
    asked = context.asked
    if asked.kind != COMMAND and asked.act not in PUBLIC_BUTTONS and not manages(asked.permissions):
        if not is_granted(guild_id=asked.guild_id, user_id=asked.user_id, roles=asked.roles):
            raise Refused(
                _("Only people who manage this server, or have a role that can use `/feed`, can do that.")
            )
        result = handler_of(asked)(context)
        if isinstance(result, Message):
            return result
        if asked.act not in WORK:
            command = FORM_COMMANDS.get(asked.act, asked.act)
            raise Refused(_("Use the command `/feed %(act)s` instead.") % {"act": command})
    return WORK[asked.act](context, row)


def _release(row: Interaction, **changes: Any) -> None:
    Interaction.objects.filter(pk=row.pk, lease_token=row.lease_token).update(**changes, **RELEASED)


def forget_interactions(*, now: datetime) -> int:
    """Delete after two days, longer than Discord's tokens live."""
    rows = Interaction.objects.filter(created_at__lt=now - KEEP, state=Interaction.State.DONE)
    return rows.delete()[0]
