from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Printed, Result
from feeds.adding.edit import alter_feed
from feeds.credentials import exposure, kind_of
from feeds.management.options import (
    OPTION_NAMES,
    add_credentials,
    add_settings,
    add_timings,
    credentials,
    find_feed,
    settings,
    timings,
)
from feeds.management.rows import feed_row
from feeds.models import Feed
from feeds.tags import checked_tag

NAMED = ("url", "title", "status")


class Command(FeedletterCommand):
    help = "Changes a feed."
    option_names = OPTION_NAMES

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="The feed's number; “list_feeds” shows it.")
        parser.add_argument("--url", help="The new address; what is there at its first reading is not sent.")
        parser.add_argument("--title")
        parser.add_argument(
            "--status",
            choices=("active", "paused", "stopped"),
            help="Paused and stopped feeds are not read, and no letter waits for them.",
        )
        tag: dict[str, Any] = {"action": "append", "default": [], "metavar": "TAG"}
        parser.add_argument("--tag", **tag, help="Give it a tag. May be given several times.")
        parser.add_argument("--untag", **tag, help="Take a tag from it. May be given several times.")
        add_timings(parser, defaults=False)
        add_settings(parser)
        add_credentials(parser)
        parser.add_argument("--no-credentials", action="store_true", help="Forget them.")

    def run(self, **options: Any) -> Result:
        feed = find_feed(options["id"])
        changes = {name: options[name] for name in NAMED if options[name] is not None}
        changes |= {**timings(options), **settings(options), **tags(feed, options), **access(options)}
        if not changes:
            raise CommandError("There is nothing to change: give at least one option, such as --title.")
        had = bool(feed.credentials)
        feed = alter_feed(feed=feed, **changes)
        sentences = [f"{name.replace('_', ' ')} is now {shown(feed, name)}" for name in changes]
        if had and not feed.credentials and "credentials" not in changes:
            sentences.append(
                "the credentials of the old address are forgotten, as the new one is at another host"
            )
        if warning := exposure(feed) if "credentials" in changes else "":
            self.note(warning)
        return Printed(f"Feed {feed.pk}: {', '.join(sentences)}.", feed_row(feed))


def tags(feed: Feed, options: dict[str, Any]) -> dict[str, list[str]]:
    added, removed = options["tag"], {checked_tag(name).casefold() for name in options["untag"]}
    if not added and not removed:
        return {}
    names: Sequence[str] = [*feed.tags.values_list("name", flat=True), *added]
    return {"tags": [name for name in names if name.casefold() not in removed]}


def access(options: dict[str, Any]) -> dict[str, dict[str, str]]:
    given = credentials(options)
    if given is not None and options["no_credentials"]:
        raise CommandError("--no-credentials: leave it out, or --user and --header.")
    if given is None and not options["no_credentials"]:
        return {}
    return {"credentials": given or {}}


def shown(feed: Feed, name: str) -> str:
    """Never show a secret."""
    if name == "credentials":
        return kind_of(feed) or "nothing"
    if name == "tags":
        return ", ".join(tag.name for tag in feed.tags.all()) or "none"
    value = getattr(feed, name)
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
