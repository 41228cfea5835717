"""https://discord.com/developers/docs/interactions/application-commands"""

from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from chat.rules.parse import LONGEST_INTERVAL
from chat.rules.permissions import MANAGE_GUILD

SUB_COMMAND, STRING, INTEGER, CHANNEL = 1, 3, 4, 7
# Text, voice, announcements, threads, stages, forums and media.
CHANNEL_TYPES = [0, 2, 5, 10, 11, 12, 13, 15, 16]
# Discord has no pt-PT.
TAGS = {"de": "de", "es": "es-ES", "fr": "fr", "pt-br": "pt-BR"}
# Of descriptions and choices.
LONGEST_TEXT = 100


def commands() -> list[dict[str, Any]]:
    """Return the body of `PUT /applications/{id}/commands`."""
    feed = _option("feed", gettext_noop("Its number, title or address"), required=True, autocomplete=True)
    some = {**feed, **_described(gettext_noop("Number, title or address of the feed, or all"))}
    anything = {**feed, **_described(gettext_noop("A feed of this server, or any address"))}
    url = _option(
        "url", gettext_noop("The address of a site or of its feed, such as blog.example"), required=True
    )
    channel = _option("channel", gettext_noop("Channel to post in. Default: this channel"), kind=CHANNEL)
    first = {number: number for number in ("0", "1", "3")}
    start = _option("start", gettext_noop("Number of existing posts to post first"), choices=first)
    styles = {
        # Translators: "Discord" texts are shown by the bot, among choices, on buttons or above fields.
        "card": pgettext_lazy("Discord", "card"),
        "compact": pgettext_lazy("Discord", "compact"),
        "text": pgettext_lazy("Discord", "text"),
        "link": pgettext_lazy("Discord", "link"),
    }
    style = _option("style", gettext_noop("Layout of posts"), choices=styles)
    parts = {
        "looks": pgettext_lazy("Discord", "looks"),
        "words": pgettext_lazy("Discord", "words"),
        "threads": pgettext_lazy("Discord", "threads"),
    }
    part = _option("part", gettext_noop("What to change"), choices=parts)
    new_url = _option("url", gettext_noop("New address. The settings are kept"))
    every = _option(
        "every",
        gettext_noop("Minutes between checks, at most. 0 is the default"),
        kind=INTEGER,
        min_value=0,
        max_value=LONGEST_INTERVAL,
    )
    sender = _option("sender", gettext_noop("Name shown above its posts; - for my name"))
    picture = _option("picture", gettext_noop("Address of the picture shown next to the name; - for mine"))
    like = _option("like", gettext_noop("Copy layout, filter and digest from this feed"), autocomplete=True)
    rhythms = {
        "each": pgettext_lazy("Discord", "each"),
        "daily": pgettext_lazy("Discord", "daily"),
        "weekly": pgettext_lazy("Discord", "weekly"),
    }
    when = _option("when", gettext_noop("Single posts or a digest"), required=True, choices=rhythms)
    hour = _option(
        "hour", gettext_noop("Hour of the digest, from 0 to 23"), kind=INTEGER, min_value=0, max_value=23
    )
    zone = _option("zone", gettext_noop("Time zone, such as Europe/Berlin"))
    log_channel = _option("log_channel", gettext_noop("Channel for problem reports"), kind=CHANNEL)
    names = dict(settings.LANGUAGES)
    language = _option("language", gettext_noop("Language of my messages"), choices=names)
    to = _option("channel", gettext_noop("Channel to move it to"), kind=CHANNEL, required=True)
    shared = [
        _sub("list", gettext_noop("All feeds of this server")),
        _sub("preview", gettext_noop("Look at the newest posts of a feed"), anything),
    ]
    managing = [
        _sub("add", gettext_noop("Post a site's new posts in a channel"), url, channel, start, style),
        _sub("remove", gettext_noop("Remove a feed"), feed),
        *shared,
        _sub("test", gettext_noop("Post the newest post of a feed now"), feed),
        _sub("pause", gettext_noop("Stop posting a feed until you resume it"), some),
        _sub("resume", gettext_noop("Resume a feed"), some),
        _sub("move", gettext_noop("Move a feed to another channel"), feed, to),
        _sub(
            "edit",
            gettext_noop("Change a feed’s name, layout, text or address"),
            feed,
            part,
            every,
            like,
            sender,
            picture,
            new_url,
        ),
        _sub("filter", gettext_noop("Choose by words which posts to post"), feed),
        _sub(
            "digest", gettext_noop("Post each post, or a digest once a day or week"), feed, when, hour, zone
        ),
        _sub("why", gettext_noop("Show what happened to a feed’s latest posts"), feed),
        _sub("status", gettext_noop("Show the status of all feeds")),
        _sub(
            "settings",
            gettext_noop("Set the channel for problem reports, the language and the time zone"),
            log_channel,
            language,
            zone,
        ),
    ]
    return [
        _command("feed", gettext_noop("Feeds in the channels of this server"), managing, str(MANAGE_GUILD)),
        _command("feeds", gettext_noop("List the feeds of this server"), shared, None),
    ]


def _command(name: str, words: str, options: list[dict[str, Any]], permissions: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "type": 1,
        **_described(words),
        "default_member_permissions": permissions,
        # Only in servers, as a server's installation.
        "contexts": [0],
        "integration_types": [0],
        "options": options,
    }


def _sub(name: str, words: str, *options: dict[str, Any]) -> dict[str, Any]:
    # Discord requires mandatory options first.
    ordered = sorted(options, key=lambda one: not one.get("required", False))
    return {"name": name, "type": SUB_COMMAND, **_described(words), "options": ordered}


def _option(
    name: str, words: str, *, kind: int = STRING, choices: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    option = {"name": name, "type": kind, **_described(words), **more}
    if kind == CHANNEL:
        option["channel_types"] = CHANNEL_TYPES
    if choices:
        option["choices"] = [
            {"name": _in_language("en", said), "name_localizations": _localised(said), "value": one}
            for one, said in choices.items()
        ]
    return option


def _described(words: str) -> dict[str, Any]:
    said = gettext_lazy(words)
    return {"description": _in_language("en", said), "description_localizations": _localised(said)}


def _localised(words: Any) -> dict[str, str]:
    return {tag: _in_language(code, words) for code, tag in TAGS.items()}


def _in_language(code: str, words: Any) -> str:
    with translation.override(code):
        return str(words)[:LONGEST_TEXT]
