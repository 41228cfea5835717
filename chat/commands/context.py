import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from channels.http.outcomes import is_answer
from chat.discord.messages import (
    DANGER,
    Body,
    Message,
    Reply,
    button,
    channel_mention,
    shown_link,
    shown_title,
)
from chat.guilds.feeds import find_feed
from chat.guilds.rights import channel_refusal, lacks
from chat.models import Guild, GuildFeed, Interaction
from chat.rules.parse import ParsedInteraction, Pressed
from chat.rules.permissions import missing_in
from common.clock import utcnow
from common.refused import Refused


@dataclass(frozen=True, slots=True)
class Context:
    asked: ParsedInteraction
    guild: Guild
    now: datetime

    @property
    def feed(self) -> GuildFeed:
        """Raises Refused."""
        typed = self.asked.fields.get("feed") if not self.asked.pressed else str(self.asked.number)
        return find_feed(self.guild, typed or "")


Handler = Callable[[Context], Reply]
# May use the network.
Work = Callable[[Context, Interaction], Message]


def feed_buttons(one: GuildFeed) -> list[Body]:
    paused = one.subscribable.stopped
    return [
        button(_("Post test"), Pressed("test", one.number)),
        button(_("Resume"), Pressed("resume", one.number))
        if paused
        else button(pgettext("button", "Pause"), Pressed("pause", one.number)),
        # Translators: the layout of posts.
        button(_("Looks"), Pressed("edit", one.number)),
        button(_("Filter"), Pressed("filter", one.number)),
        button(pgettext("Discord", "Remove"), Pressed("remove", one.number), style=DANGER),
    ]


def feed_line(one: GuildFeed) -> str:
    """Return `3 · Title → #news`, with trouble or interval."""
    line = f"**{one.number}** · {shown_link(one.title, one.feed.site_url or one.feed.url)} → "
    line += channel_mention(one.channel_id)
    if trouble := trouble_in_words(one):
        line += f" · {trouble}"
    elif one.feed.last_polled_at is not None:
        # The pace follows the feed's publications.
        seconds = (one.feed.next_poll_at - one.feed.last_polled_at).total_seconds()
        line += f" · {interval_words(max(round(seconds / 60), 1))}"
    return line


def interval_words(minutes: int) -> str:
    if minutes < 2 * 60:
        said = ngettext("is checked every minute", "is checked every %(count)s minutes", minutes)
        return said % {"count": minutes}
    hours = round(minutes / 60)
    said = ngettext("is checked every hour", "is checked every %(count)s hours", hours)
    return said % {"count": hours}


def trouble_in_words(one: GuildFeed) -> str:
    if one.subscribable.stopped:
        return _("paused")
    if one.rests_until:
        return _("has reached the daily limit, and posts again %(when)s") % {"when": ago(one.rests_until)}
    if refusal := channel_refusal(one):
        said = _("Discord doesn’t allow posting there: %(said)s") % {"said": shown_title(refusal[0])}
        return f"{said} {try_words(*refusal)}".strip()
    match one.feed.health:
        case "failing":
            return _("can’t be fetched: %(said)s") % {"said": shown_title(one.feed.last_error)}
        case "stopped" | "paused":
            return _("stopped")
        case "held":
            return _("waiting for your decision")
    return ""


def try_words(refusal: str, retry_at: datetime | None) -> str:
    if retry_at is None:
        return _("Choose another channel with `/feed move`.") if is_answer(refusal) else ""
    if retry_at <= utcnow():
        return _("New posts are waiting. I’ll try again with the next post, or at once after `/feed resume`.")
    said = _("New posts are waiting. I’ll try again %(when)s, or at once after `/feed resume`.")
    return said % {"when": ago(retry_at)}


def undone_by(command: str, one: GuildFeed | None = None) -> str:
    command += f" feed:{one.number}" if one else ""
    return _("To undo this, use `/feed %(command)s`.") % {"command": command}


def ago(moment: datetime | None) -> str:
    """Discord shows it in the reader's language and zone."""
    return f"<t:{int(moment.timestamp())}:R>" if moment else "–"


def chosen_channel(context: Context, option: str = "channel") -> int:
    """Raises Refused if the bot may not post there."""
    asked, typed = context.asked, context.asked.fields.get(option, "")
    channel_id = int(typed) if typed.isascii() and typed.isdecimal() and len(typed) < 20 else asked.channel_id
    kind, bits = asked.channels.get(channel_id, (asked.channel_type, None))
    if bits is None and channel_id == asked.channel_id:
        bits = asked.app_permissions
    missing = missing_in(bits, kind) if bits is not None else []
    if missing:
        raise Refused(lacks(channel_id, missing))
    return channel_id


def words_of(error: Exception) -> str:
    texts = error.messages if isinstance(error, ValidationError) else [str(error)]
    # Server members don't know the option of “channel_id: …”.
    texts = [re.sub(r"^[a-z_]+: (?=.)", "", text) for text in texts]
    return " ".join(f"{text[:1].upper()}{text[1:]}" for text in texts)


def options_of(one: GuildFeed, **changes: str) -> dict[str, Any]:
    """Empty options are removed."""
    return {name: value for name, value in {**one.subscribable.options, **changes}.items() if value}
