"""`/feed edit`: menus that apply at once, and two forms."""

from collections.abc import Collection, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from channels.discord.options import THREAD_MINUTES
from channels.rules.corrections import DELETE_WITHDRAWN, EDIT_CORRECTED
from channels.wording import LONGEST_TEMPLATE
from chat.commands.add import checked_address, discovered, feeds_in
from chat.commands.context import Context, feed_buttons, options_of, undone_by
from chat.commands.feeds import fitting, named
from chat.discord.messages import (
    Body,
    Form,
    Input,
    Later,
    Message,
    Reply,
    button,
    menu,
    role_menu,
    shown_link,
    shown_title,
)
from chat.guilds.feeds import change_address, checked_channel, choose_interval, copy_settings, find_feed
from chat.guilds.rights import refuse_without_webhooks
from chat.guilds.servers import NEW_ADDRESS, refuse_beyond_hourly
from chat.models import GuildFeed, Interaction
from chat.rules.parse import LONGEST_INTERVAL, Pressed
from common.refused import Refused
from subscriptions.newsletters.define import alter_subscribable
from subscriptions.subscribers.admin_changes import subscribe_checked

# Discord's limit for forms.
LONGEST_FIELD = 4_000
MOST_NAMED = 5
# Menus have no empty values.
USUAL = "usual"
# Option → setting, and the value for the bot's own.
SENDER, MINE = {"name": "sender", "picture": "picture"}, "-"
LOOKS, WORDS, THREADS = "looks", "words", "threads"
HOURS_OF_THREADS = {str(int(minutes) // 60): minutes for minutes in THREAD_MINUTES if minutes}
# On unless the option turns it off.
AUTHOR = "author"


def edit(context: Context) -> Reply:
    """Return the panel, or a form for people who may use the command but not buttons.

    A worker makes changes that need the network.
    """
    one, typed = context.feed, context.asked.fields
    url = typed.get("url", "")
    if url:
        checked_address(url)
        refuse_beyond_hourly(guild_id=context.guild.pk, act=NEW_ADDRESS, now=context.now)
    if like := typed.get("like", ""):
        copy_settings(one, find_feed(context.guild, like))
    if every := typed.get("every", ""):
        if not every.isascii() or not every.isdecimal() or len(every) > len(str(LONGEST_INTERVAL)):
            raise Refused(_("Enter a number of minutes."))
        choose_interval(one, minutes=int(every) or None)
    if url or _sender_of(context):
        return Later()
    part = typed.get("part", LOOKS)
    if part == WORDS:
        return words_form(context)
    if part == THREADS:
        return threads_form(context)
    return panel(one)


def _sender_of(context: Context) -> dict[str, str]:
    typed = {
        f"sender_{name}": context.asked.fields.get(option, "").strip() for name, option in SENDER.items()
    }
    return {name: "" if value == MINE else value for name, value in typed.items() if value}


def work_edit(context: Context, row: Interaction) -> Message:
    one = context.feed
    if sender := _sender_of(context):
        if any(sender.values()):
            refuse_without_webhooks(one)
        shown = _changed(one, **sender)
        if not context.asked.fields.get("url"):
            return shown
    found = feeds_in(discovered(context.asked.fields.get("url", ""), context))
    if len(found) > 1:
        lines = [_("Several feeds were found there. Enter the address of one of them:")]
        lines += [f"• {shown_link(each.title, each.url)}" for each in found[:MOST_NAMED]]
        raise Refused("\n".join(lines))
    url = found[0].url
    change_address(one, url=url, now=context.now)
    said = _("%(feed)s is now fetched from %(url)s. The settings are kept.")
    said = said % {"feed": named(one), "url": shown_link(url, url)}
    return Message(f"{said} {undone_by('edit', one)}", [feed_buttons(one)])


def panel(one: GuildFeed) -> Message:
    options, number = one.subscribable.options, one.number
    role = options.get("role", "")
    is_on = {name for name in _switches() if bool(options.get(name)) != (name == AUTHOR)}
    styles = {
        "": _("A card"),
        "compact": _("Short: title, age and beginning"),
        "text": _("Text with a preview"),
        "link": _("Link only"),
    }
    picture = pgettext("Discord", "Picture")
    sizes = {"": _("A large picture"), "small": _("A small picture"), "none": _("No picture")}
    rows = [
        [_menu(Pressed("style", number), _("Looks"), styles, [options.get("style") or USUAL])],
        [_menu(Pressed("image", number), picture, sizes, [options.get("image") or USUAL])],
        [_menu(Pressed("does", number), _("What it does"), _switches(), is_on, several=True)],
        [role_menu(Pressed("role", number), _("Role to mention: none"), role)],
        [
            # Translators: the text of posts.
            button(_("Words"), Pressed("words", number)),
            button(_("Threads"), Pressed("threads", number)),
            button(_("Post test"), Pressed("test", number)),
        ],
    ]
    return Message(fitting(_said(one)), rows)


def _said(one: GuildFeed) -> list[str]:
    options = one.subscribable.options
    lines = [
        _("Layout of %(feed)s. Changes apply immediately. `/feed edit` changes it again.")
        % {"feed": named(one)}
    ]
    labelled = {
        _("Sender"): options.get("sender_name", ""),
        _("Picture of the sender"): options.get("sender_picture", ""),
        _("Words"): options.get("template", ""),
        _("Card footer"): options.get("footer", ""),
        _("Colour"): options.get("colour", ""),
        _("Words that trigger the mention"): options.get("role_words", ""),
        _("Thread names"): options.get("thread_name", ""),
        _("Forum tags: IDs"): options.get("applied_tags", ""),
    }
    lines += [f"{label}: {shown_title(value)}" for label, value in labelled.items() if value]
    if one.every_minutes is not None:
        said = ngettext(
            "It is checked at least every minute.",
            "It is checked at least every %(count)s minutes.",
            one.every_minutes,
        )
        lines.append(said % {"count": one.every_minutes})
    if minutes := options.get("thread_minutes"):
        hours = int(minutes) // 60
        said = ngettext(
            "A thread for each post, archived after %(hours)s hour.",
            "A thread for each post, archived after %(hours)s hours.",
            hours,
        )
        lines.append(said % {"hours": hours})
    return lines


def choose(context: Context, name: str, known: Mapping[str, str]) -> Message:
    value = next(iter(context.asked.values), USUAL)
    value = "" if value == USUAL else value
    return _changed(context.feed, **({name: value} if value in known else {}))


def chose_role(context: Context) -> Reply:
    return _changed(context.feed, role=next(iter(context.asked.values), ""))


def chose_switches(context: Context) -> Reply:
    """Other switches are off. A worker looks up the forum's tags."""
    one, chosen = context.feed, set(context.asked.values)
    wants_tags = "tags_by_category" in chosen and not one.subscribable.options.get("tags_by_category")
    return Later(in_place=True) if wants_tags else _switched(one, chosen)


def work_switches(context: Context, row: Interaction) -> Message:
    one = context.feed
    # Brings the forum's tags (network).
    to = checked_channel(one.guild, one.channel_id)
    subscribe_checked(subscribable=one.subscribable, parsed=to, now=context.now)
    return _switched(one, set(context.asked.values))


def _switched(one: GuildFeed, chosen: set[str]) -> Message:
    wanted = {name: "on" if name in chosen else "" for name in _switches()}
    wanted[AUTHOR] = "" if AUTHOR in chosen else "off"
    return _changed(one, **wanted)


def _changed(one: GuildFeed, **changes: str) -> Message:
    one.subscribable = alter_subscribable(subscribable=one.subscribable, options=options_of(one, **changes))
    return panel(one)


def words_form(context: Context) -> Reply:
    one = context.feed
    options = one.subscribable.options
    inputs = (
        Input("name", _("Name"), one.title, longest=200),
        Input("template", _("Words"), options.get("template", ""), "{title} {link}", LONGEST_TEMPLATE, True),
        Input("footer", _("Card footer"), options.get("footer", ""), _("Its name; - for none"), 200),
        Input("colour", _("Colour"), options.get("colour", ""), "#f5a623", 7),
        Input(
            "role_words",
            _("Words that trigger the mention"),
            options.get("role_words", ""),
            _("Leave empty to mention for each post"),
            longest=LONGEST_FIELD,
        ),
    )
    return Form(Pressed("words", one.number), _("Change a feed"), inputs)


def save_words(context: Context) -> Reply:
    one, typed = context.feed, context.asked.fields
    names = ("template", "footer", "colour", "role_words")
    options = options_of(one, **{name: typed.get(name, "").strip() for name in names})
    title = typed.get("name", "").strip() or one.title
    one.subscribable = alter_subscribable(subscribable=one.subscribable, title=title, options=options)
    return panel(one)


def threads_form(context: Context) -> Reply:
    one = context.feed
    options = one.subscribable.options
    hours = str(int(options.get("thread_minutes") or 0) // 60 or "")
    inputs = (
        Input("hours", _("Thread for each post: hours"), hours, _("1, 24, 72 or 168; empty: none"), 3),
        Input("name", _("Thread names"), options.get("thread_name", ""), "{title}", LONGEST_TEMPLATE),
        Input("tags", _("Forum tags: IDs"), options.get("applied_tags", ""), longest=120),
    )
    return Form(Pressed("threads", one.number), _("Threads"), inputs)


def save_threads(context: Context) -> Reply:
    one, typed = context.feed, context.asked.fields
    hours = typed.get("hours", "").strip()
    if hours and hours not in HOURS_OF_THREADS:
        raise Refused(_("A thread can be archived after 1, 24, 72 or 168 hours."))
    return _changed(
        one,
        thread_minutes=HOURS_OF_THREADS.get(hours, ""),
        thread_name=typed.get("name", "").strip(),
        applied_tags=typed.get("tags", "").strip(),
    )


def _switches() -> dict[str, str]:
    return {
        AUTHOR: _("Show the author"),
        "trim": _("Remove repeated text"),
        "silent": _("Without a sound"),
        "crosspost": _("Publish to servers that follow the channel"),
        "tags_by_category": _("Forum tags by category"),
        EDIT_CORRECTED: _("Edit corrected posts"),
        DELETE_WITHDRAWN: _("Delete withdrawn posts"),
    }


def _menu(
    act: Pressed, hint: str, words: Mapping[str, str], chosen: Collection[str], *, several: bool = False
) -> Body:
    choices = [(value or USUAL, said, "") for value, said in words.items()]
    return menu(act, hint, choices, chosen=chosen, several=several)
