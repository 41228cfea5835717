"""The timing options of a feed, and the feed that an ID names."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.arguments import find, whole
from feeds.models import Feed

TIMINGS: Mapping[str, tuple[int, str]] = {
    "min_delay_minutes": (30, "A post is never sent earlier than this after it was first seen"),
    "await_stabilization_minutes": (15, "A post must have stayed unchanged this long"),
    "max_delay_minutes": (180, "A post that keeps changing is sent after this all the same"),
    "recheck_every_minutes": (10, "How often the feed is read"),
}


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def add_timings(parser: CommandParser, *, defaults: bool) -> None:
    """--ping or the four timings; left out, they are None."""
    parser.add_argument(
        "--ping", action="store_true", help="All four 0: posts go out as soon as they are seen."
    )
    for name, (default, text) in TIMINGS.items():
        usual = f" (usually {default})" if defaults else ""
        parser.add_argument(option(name), type=whole, metavar="N", help=text + usual + ".")


def timings(options: Mapping[str, Any]) -> dict[str, int]:
    """The timings that were given. Raises CommandError for --ping beside one of them."""
    given = {name: options[name] for name in TIMINGS if options[name] is not None}
    if options["ping"] and given:
        raise CommandError(
            f"--ping sets all four timings to 0: leave out {option(next(iter(given)))}, or --ping."
        )
    return dict.fromkeys(TIMINGS, 0) if options["ping"] else given


def find_feed(pk: int) -> Feed:
    found: Feed = find(Feed.objects.all(), "feed", "“list_feeds” shows those there are.", pk=pk)
    return found
