"""`set_site`: set or show the appearance of the whole site."""

from argparse import SUPPRESS
from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import picture
from common.cli.commands import FeedletterCommand, Result
from subscriptions.branding.brands import picture_url
from subscriptions.branding.site import SITE_FIELDS, alter_site, site_settings

HELP = {
    "name": "What readers know the whole by; empty for the domain.",
    "about": "A sentence under the name, above the list of newsletters.",
    "accent": "All colours are made of it, such as #1a5fb4; a newsletter may have its own.",
    "imprint_url": "The address of who is behind it.",
    "privacy_url": "The address of what is done with readers' data.",
}


class Command(FeedletterCommand):
    help = "Sets what the whole site is called and wears. An empty text is the usual."

    def add_options(self, parser: CommandParser) -> None:
        for name, said in HELP.items():
            parser.add_argument(f"--{name.replace('_', '-')}", default=SUPPRESS, metavar="TEXT", help=said)
        parser.add_argument(
            "--logo", type=picture, default=SUPPRESS, metavar="FILE", help="Empty: none any more."
        )
        parser.add_argument(
            "--logo-says-name",
            choices=("yes", "no"),
            default=SUPPRESS,
            help="Whether the name is in the logo and does not stand beside it.",
        )

    def run(self, **options: Any) -> Result:
        changes = {name: options[name] for name in SITE_FIELDS if name in options}
        if "logo_says_name" in changes:
            changes["logo_says_name"] = changes["logo_says_name"] == "yes"
        row = alter_site(**changes) if changes else site_settings()
        return {**{name: getattr(row, name) for name in SITE_FIELDS}, "logo": picture_url(row.logo_id)}
