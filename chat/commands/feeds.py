"""Commands without network."""

from dataclasses import replace
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext, pgettext

from channels.http.outcomes import is_answer
from chat.commands.context import (
    Context,
    ago,
    feed_buttons,
    feed_line,
    trouble_in_words,
    try_words,
    undone_by,
)
from chat.discord.messages import (
    DANGER,
    Body,
    Later,
    Message,
    Reply,
    button,
    channel_mention,
    shown_link,
    shown_title,
)
from chat.guilds.feeds import pause_feed, remove_feed
from chat.guilds.history import PostFate, latest_fates
from chat.guilds.rights import ask_again, channel_refusal
from chat.guilds.servers import bot_settings
from chat.models import GuildFeed, Interaction
from chat.rules.parse import Pressed
from common.refused import Refused

PAGE = 10
LONGEST_ANSWER = 1_950
# In place of a feed's name.
ALL = "all"
FATES = {
    "sent": gettext_noop("posted %(when)s"),
    "sending": gettext_noop("is being posted"),
    "left out": gettext_noop("left out: %(why)s"),
    "unsure": gettext_noop("may or may not have been posted, and won’t be retried automatically: %(why)s"),
    "new": gettext_noop("is new, and waits until it stops changing"),
    "held": gettext_noop("waits for your decision"),
    "rests": gettext_noop("waits until %(when)s, because of the daily limit of posts"),
    "withdrawn": gettext_noop("not posted because it was withdrawn before it was ready"),
}


def list_feeds(context: Context) -> Reply:
    """A button's number is its page."""
    rows = _present(context)
    count = rows.count()
    if not count:
        return Message(_("This server has no feeds yet. Add one with `/feed add`."))
    pages = -(-count // PAGE)
    page = min(context.asked.number, pages - 1) if context.asked.pressed else 0
    shown = list(rows[page * PAGE : (page + 1) * PAGE])
    title = _("Feeds of this server: %(total)s") % {"total": count}
    lines = fitting([f"**{title}**", *map(feed_line, shown)])
    turns: list[Body] = []
    if page:
        turns.append(button("◀", Pressed("list", page - 1)))
    if page + 1 < pages:
        turns.append(button(f"▶ {page + 2}/{pages}", Pressed("list", page + 1)))
    return Message(lines, [turns] if turns else [])


def fitting(lines: list[str]) -> str:
    made = ""
    for line in lines:
        if len(made) + len(line) + 1 > LONGEST_ANSWER:
            return f"{made}\n…"
        made = f"{made}\n{line}" if made else line
    return made


def pause(context: Context) -> Reply:
    if _means_all(context):
        return _all_paused(context, is_paused=True)
    return _paused(context, is_paused=True)


def resume(context: Context) -> Reply:
    if _means_all(context):
        is_refused = any(channel_refusal(one) for one in _present(context))
        return Later() if is_refused else _all_paused(context, is_paused=False)
    if channel_refusal(context.feed):
        return Later()
    return _paused(context, is_paused=False)


def work_resume(context: Context, row: Interaction) -> Message:
    """Check the permissions, too (network)."""
    if _means_all(context):
        return _all_paused(context, is_paused=False, tries_again=True)
    message = _paused(context, is_paused=False)
    why = still_refused(context.feed, now=context.now)
    return replace(message, content=why) if why else message


def still_refused(one: GuildFeed, *, now: datetime) -> str:
    """Return missing permissions if the channel had refused (network). Raises Refused."""
    why = ask_again(one, now=now) if channel_refusal(one) else ""
    refusal = channel_refusal(one) if why else None
    return f"{why} {try_words(*refusal)}".strip() if refusal else why


def _paused(context: Context, *, is_paused: bool) -> Message:
    one = context.feed
    pause_feed(one, is_paused=is_paused)
    one.subscribable.stopped = is_paused
    said = (
        _("%(feed)s is paused. Posts published while it’s paused won’t be posted later.")
        if is_paused
        else _("%(feed)s is resumed.")
    )
    undone = undone_by("resume" if is_paused else "pause", one)
    return Message(f"{said % {'feed': named(one)}} {undone}", [feed_buttons(one)])


def _means_all(context: Context) -> bool:
    return not context.asked.pressed and context.asked.fields.get("feed", "").strip().casefold() == ALL


def _all_paused(context: Context, *, is_paused: bool, tries_again: bool = False) -> Message:
    """List channels that refuse the bot. `tries_again` asks them (network)."""
    rows = list(_present(context))
    refused = [one for one in rows if tries_again and channel_refusal(one)]
    changed = [one for one in rows if one.subscribable.stopped != is_paused]
    for one in changed:
        pause_feed(one, is_paused=is_paused)
        one.subscribable.stopped = is_paused
    missing = {one: why for one in refused if (why := _asked_again(one, context.now))}
    changed += [one for one in refused if one not in missing and one not in changed]
    said = (
        ngettext(
            "%(count)s feed is paused. Posts published while it’s paused won’t be posted later.",
            "%(count)s feeds are paused. Posts published while they’re paused won’t be posted later.",
            len(changed),
        )
        if is_paused
        else ngettext("%(count)s feed is resumed.", "%(count)s feeds are resumed.", len(changed))
    )
    wrong = [] if is_paused else [feed_line(one) for one in rows if trouble_in_words(one)]
    undone = [undone_by(f"{'resume' if is_paused else 'pause'} feed:{ALL}")] if changed else []
    lines = [said % {"count": len(changed)}, *undone, *wrong, *dict.fromkeys(missing.values())]
    return Message(fitting(lines))


def _asked_again(one: GuildFeed, now: datetime) -> str:
    try:
        return ask_again(one, now=now)
    except Refused as error:
        return str(error)


def _present(context: Context) -> "QuerySet[GuildFeed]":
    return context.guild.guild_feeds.present().select_related("subscribable", "feed").order_by("number")


def named(one: GuildFeed) -> str:
    return f"**{shown_title(one.title)}**"


def remove(context: Context) -> Reply:
    one = context.feed
    said = _("Remove %(feed)s from %(channel)s? Waiting posts won’t be posted.")
    rows = [
        button(pgettext("Discord", "Remove"), Pressed("gone", one.number), style=DANGER),
        button(_("Keep it"), Pressed("kept", one.number)),
    ]
    return Message(said % {"feed": named(one), "channel": channel_mention(one.channel_id)}, [rows])


def confirm_removal(context: Context) -> Reply:
    one = context.feed
    remove_feed(one, now=context.now)
    return Message(
        _("%(feed)s was removed. `/feed add` adds it again, with new settings.") % {"feed": named(one)}
    )


def cancel_removal(context: Context) -> Reply:
    one = context.feed
    return Message(_("%(feed)s stays.") % {"feed": named(one)}, [feed_buttons(one)])


def why(context: Context) -> Reply:
    one = context.feed
    fates = latest_fates(one, now=context.now)
    if not fates:
        return Message(_("%(feed)s has had no posts yet.") % {"feed": named(one)})
    first = _("The latest posts of %(feed)s:") % {"feed": named(one)}
    return Message(
        fitting([first, *(f"• {shown_link(fate.title, fate.link)}: {fate_words(fate)}" for fate in fates)])
    )


def fate_words(fate: PostFate) -> str:
    words = shown_title(fate.words)
    if sentence := FATES.get(fate.state):
        return _(sentence) % {"when": ago(fate.at), "why": words}
    if fate.state == "waits":
        if fate.at:
            until = _("waits until %(when)s") % {"when": ago(fate.at)}
            answer = _("Discord said: %(said)s") % {"said": words}
            return f"{until}. {answer}" if is_answer(fate.words) else until
        return _("waits: %(why)s") % {"why": words} if words else _("will be posted in a moment")
    if fate.state == "failed" and is_answer(fate.words):
        return _("failed. Discord said: %(said)s") % {"said": words}
    if fate.state == "failed" or words:
        return _("not posted: %(why)s") % {"why": words}
    if fate.state == "there":
        return _("not posted because it existed when the feed was added")
    return _("not posted. Posts published while a feed is paused aren’t posted; `/feed resume` ends a pause.")


def status(context: Context) -> Reply:
    """Show troubles first."""
    rows = list(_present(context))
    limit = context.guild.most_feeds(bot_settings())
    said = ngettext("%(used)s of %(limit)s feed.", "%(used)s of %(limit)s feeds.", limit)
    lines = [said % {"used": len(rows), "limit": limit}]
    wrong = [one for one in rows if trouble_in_words(one)]
    lines += [feed_line(one) for one in wrong] if wrong else [_("All feeds are working.")] if rows else []
    if any(one.subscribable.stopped for one in rows):
        lines.append(_("`/feed resume` resumes paused feeds."))
    soon = min((one.feed.next_poll_at for one in rows if one.feed.status == "active"), default=None)
    if soon is not None:
        lines.append(_("Next check: %(when)s.") % {"when": ago(soon)})
    return Message(fitting(lines))
