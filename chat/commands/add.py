"""`/feed add`."""

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from chat.commands.context import Context, chosen_channel, feed_buttons, undone_by
from chat.commands.feeds import named, still_refused
from chat.discord.messages import (
    MOST_CHOICES,
    Later,
    Message,
    Reply,
    channel_mention,
    menu,
    shown_link,
    shown_title,
)
from chat.guilds.feeds import add_guild_feed, checked_channel, find_feed, move_feed, no_feed
from chat.guilds.servers import bot_settings, ensure_account
from chat.models import GuildFeed, Interaction
from chat.rules.parse import Pressed, read
from common.refused import Refused
from feeds.adding.discover import Candidate, Discovery, DiscoveryBudget, addresses, discover
from feeds.addresses import host_of_url
from feeds.credentials import split_address

STYLES = ("card", "compact", "text", "link")
STARTS = (0, 1, 3)
# People wait, and a server may respond slowly.
BUDGET = DiscoveryBudget(requests=20, seconds=10.0)
LATEST = 3


def add(context: Context) -> Reply:
    if not feed_to_move(context):
        checked_address(context.asked.fields.get("url", ""))
    chosen_channel(context)
    return Later()


def feed_to_move(context: Context) -> GuildFeed | None:
    """Return None unless a number replaces the address. Raises Refused."""
    typed = context.asked.fields.get("url", "").strip().removeprefix("#")
    if not typed.isascii() or not typed.isdecimal():
        return None
    one = find_feed(context.guild, typed)
    if str(one.number) != typed.lstrip("0"):
        raise no_feed()
    return one


def moved(one: GuildFeed, context: Context) -> Message:
    """Post in the chosen channel (network). Raises Refused and InvalidDestination."""
    to = checked_channel(context.guild, chosen_channel(context))
    move_feed(one, to=to, now=context.now)
    said = _("%(feed)s will now be posted in %(channel)s.")
    words = said % {"feed": named(one), "channel": channel_mention(int(to.config["channel_id"]))}
    one.refresh_from_db(fields=["channel_id"])
    # The channel may have refused another feed.
    why = still_refused(one, now=context.now)
    return Message(why or f"{words} {undone_by('move', one)}", [feed_buttons(one)])


def checked_address(url: str) -> None:
    """Raises Refused."""
    try:
        places = addresses(url)
    except ValidationError as error:
        raise Refused(_("That isn’t the address of a site or feed. Try one like blog.example.")) from error
    if any(split_address(place)[1] for place in places):
        raise Refused(
            _("The address contains a user name and password, which others could see. Remove them.")
        )
    if any(bot_settings().denies(host_of_url(place)) for place in places):
        raise Refused(_("The operator of this bot has blocked that site."))


def work_add(context: Context, row: Interaction) -> Message:
    """Offer several feeds as a choice (network)."""
    asked = context.asked
    if one := feed_to_move(context):
        return moved(one, context)
    wish = _wish(context)
    found = discovered(asked.fields.get("url", ""), context)
    posts = feeds_in(found)
    if len(posts) > 1:
        row.found = {"candidates": [_kept(one) for one in posts[:MOST_CHOICES]]}
        row.save(update_fields=["found"])
        choices = [
            (str(place), one.title, ", ".join(post.title for post in one.latest[:2]))
            for place, one in enumerate(posts)
        ]
        said = ngettext("%(count)s feed was found.", "%(count)s feeds were found.", len(posts)) % {
            "count": len(posts)
        }
        offered = menu(Pressed("pick", row.pk), _("Which one?"), choices)
        return Message(f"{said} {_('Which one?')}", [[offered]])
    return _added(context, _kept(posts[0]), wish, row.pk)


def feeds_in(found: Discovery) -> list[Candidate]:
    """Return a single feed for a feed's address, else all but comment feeds."""
    posts = [one for one in found.candidates if not one.is_comments] or list(found.candidates)
    return posts[:1] if found.is_feed else posts


def pick(context: Context) -> Reply:
    _picked(context)
    return Later(in_place=True)


def work_pick(context: Context, row: Interaction) -> Message:
    first, kept = _picked(context)
    before = Context(read(first.request), context.guild, context.now)
    return _added(context, kept, _wish(before), first.pk)


def _picked(context: Context) -> tuple[Interaction, dict[str, Any]]:
    """Return the original interaction and the choice. Raises Refused."""
    first = Interaction.objects.filter(pk=context.asked.number, guild_id=context.guild.pk).first()
    found = first.found.get("candidates", []) if first else []
    value = context.asked.values[0] if context.asked.values else ""
    if first is None or not value.isdecimal() or int(value) >= len(found):
        raise Refused(_("That request has expired. Use `/feed add` again."))
    return first, found[int(value)]


def discovered(url: str, context: Context) -> Discovery:
    """Raises Refused if there is no feed (network)."""
    try:
        found = discover(url, now=context.now, budget=BUDGET)
    except ValidationError as error:
        raise Refused(_("That isn’t the address of a site or feed. Try one like blog.example.")) from error
    if not found.candidates:
        raise Refused(
            _("That address couldn’t be fetched. Check it, or try again later.")
            if found.may_be_a_feed
            else _("No feed was found there. Look on the site for a link called RSS, Atom or Feed.")
        )
    return found


def _kept(one: Candidate) -> dict[str, Any]:
    return {"url": one.url, "title": one.title, "latest": [post.title for post in one.latest[:LATEST]]}


def _wish(context: Context) -> tuple[int, int, str]:
    """Return the channel's id, how many posts come first, and the style. Raises Refused."""
    start, style = (context.asked.fields.get(name, "") for name in ("start", "style"))
    first_posts = int(start) if start in map(str, STARTS) else 0
    return chosen_channel(context), first_posts, style if style in STYLES[1:] else ""


def _added(context: Context, kept: dict[str, Any], wish: tuple[int, int, str], interaction: int) -> Message:
    channel_id, first_posts, style = wish
    ensure_account(now=context.now)
    to = checked_channel(context.guild, channel_id)
    one = add_guild_feed(
        guild=context.guild,
        url=kept["url"],
        title=kept["title"],
        to=to,
        options={"style": style} if style else {},
        first_posts=first_posts,
        language=get_language() or "en",
        by=context.asked.user_id,
        interaction=interaction,
        now=context.now,
    )
    if why := still_refused(one, now=context.now):
        return Message(why, [feed_buttons(one)])
    lines = [
        _("%(feed)s will now be posted in %(channel)s. Its number is %(id)s.")
        % {
            "feed": f"**{shown_link(one.title, one.feed.site_url or one.feed.url)}**",
            "channel": channel_mention(one.channel_id),
            "id": one.number,
        }
    ]
    if latest := kept["latest"]:
        lines += [_("Latest posts:"), *(f"• {shown_title(title) or '–'}" for title in latest)]
    if soon := one.feed.next_poll_at:
        # Correct when read late.
        lines.append(
            _("I’ll check for new posts from %(time)s.") % {"time": f"<t:{int(soon.timestamp())}:t>"}
        )
    return Message("\n".join([*lines, undone_by("remove", one)]), [feed_buttons(one)])
