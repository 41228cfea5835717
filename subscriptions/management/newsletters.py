from argparse import SUPPRESS
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from common.cli.commands import FeedletterCommand, Result, argument, field_argument, pairs, picture, whole
from common.clock import utcnow
from common.ports import channels
from subscriptions.branding.brands import SITE_FIELDS, alter_site, picture_url, site_settings
from subscriptions.collections.assign import MOST_POSTS, assign_final, begin_with
from subscriptions.management.options import (
    OPTION_NAMES,
    add_bridge_destination,
    add_fields,
    add_newsletter,
    bridge_destination,
    feeds,
    fields,
    find_subscribable,
)
from subscriptions.models import SiteSettings
from subscriptions.newsletters.define import alter_subscribable, define_subscribable, set_extra_params
from subscriptions.resources.newsletters import newsletters
from subscriptions.subscribers.admin_changes import subscribe_checked


class DefineSubscribable(FeedletterCommand):
    help = (
        "Creates a newsletter, or a bridge to an account, from one or more feeds. If the account is given, a"
        " bridge starts posting to it."
    )
    option_names = OPTION_NAMES

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("newsletter", metavar="NAME", help="Letters, digits, dots, dashes, underscores.")
        others = ", ".join(kind.key for kind in channels.bridge_kinds())
        parser.add_argument("--channel", help=f"email (the usual one), or for a bridge one of {others}.")
        add_fields(parser)
        parser.add_argument(
            "--last",
            type=whole,
            default=0,
            metavar="N",
            help=f"Begin with the newest posts that its feeds have already, at most {MOST_POSTS}.",
        )
        add_bridge_destination(parser)

    def run(self, **options: Any) -> Result:
        chosen = fields(options)
        if options["param"]:
            chosen["params"] = pairs(options["param"], "--param")
        parsed = self.parsed(options)
        with transaction.atomic():
            made = define_subscribable(name=options["newsletter"], feeds=feeds(options), **chosen)
            if parsed is not None:
                subscribe_checked(subscribable=made, parsed=parsed, now=utcnow())
            if options["last"]:
                begin_with(subscribable=made, count=options["last"], now=utcnow())
        return newsletters.shown(newsletters.find(made.name))

    def parsed(self, options: dict[str, Any]) -> channels.ParsedDestination | None:
        """Return a bridge's destination, checked by the service before any write."""
        known = {kind.key: kind for kind in channels.newsletter_kinds()}
        # An unknown channel is refused later, with the other fields.
        kind = known.get(options["channel"] or "email", known["email"])
        data = bridge_destination(options, kind)
        return kind.check(kind.parse_destination(data)) if data else None


class AlterSubscribable(FeedletterCommand):
    help = "Changes a newsletter or bridge. The next issue keeps its time."
    option_names = OPTION_NAMES

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        add_fields(parser)
        running = parser.add_mutually_exclusive_group()
        running.add_argument("--stop", action="store_true", help="Take no new posts.")
        running.add_argument("--resume", action="store_true", help="Take new posts again.")

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        changes = fields(options)
        if options["param"]:
            changes["params"] = {**subscribable.params, **pairs(options["param"], "--param")}
        if options["stop"] or options["resume"]:
            changes["stopped"] = options["stop"]
        chosen = feeds(options) if options["feed"] else None
        if not changes and chosen is None:
            raise CommandError("There is nothing to change: give at least one option, such as --title.")
        altered = alter_subscribable(subscribable=subscribable, feeds=chosen, **changes)
        return newsletters.shown(newsletters.find(altered.name))


class SetExtraParams(FeedletterCommand):
    help = "Sets and removes extra parameters of a newsletter, and shows them."
    option_names = {"params": "key=value"}  # noqa: RUF012
    arguments = (
        add_newsletter,
        argument("pairs", nargs="*", metavar="key=value"),
        argument("--remove", nargs="+", default=[], metavar="key", help="Removed before others are set."),
    )

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        add = pairs(options["pairs"], "key=value")
        if add or options["remove"]:
            subscribable = set_extra_params(subscribable=subscribable, add=add, remove=options["remove"])
        return {"name": subscribable.name, "params": subscribable.params}


class Assign(FeedletterCommand):
    help = "Adds posts that have settled to their next issues."
    arguments = (argument("--all", action="store_true", help="Also retry posts that have just failed."),)

    def run(self, **options: Any) -> Result:
        with self.progress("assigning"):
            return {"assigned": assign_final(ignore_back_off=options["all"])}


class SetSite(FeedletterCommand):
    help = "Sets the site's name, logo and colours. An empty text resets the setting."

    def add_options(self, parser: CommandParser) -> None:
        for name in ("name", "about", "accent", "imprint_url", "privacy_url"):
            field_argument(SiteSettings, name, default=SUPPRESS, metavar="TEXT")(parser)
        parser.add_argument(
            "--logo", type=picture, default=SUPPRESS, metavar="FILE", help="Empty: remove it."
        )
        field_argument(
            SiteSettings, "logo_says_name", action="store", choices=("yes", "no"), default=SUPPRESS
        )(parser)

    def run(self, **options: Any) -> Result:
        changes = {name: options[name] for name in SITE_FIELDS if name in options}
        if "logo_says_name" in changes:
            changes["logo_says_name"] = changes["logo_says_name"] == "yes"
        row = alter_site(**changes) if changes else site_settings()
        return {**{name: getattr(row, name) for name in SITE_FIELDS}, "logo": picture_url(row.logo_id)}
