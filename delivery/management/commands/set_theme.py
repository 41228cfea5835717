"""`set_theme NAME`: the look of a newsletter's letters; without options it shows it."""

from argparse import SUPPRESS
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import picture, whole
from common.cli.commands import FeedletterCommand, Result
from delivery.customisation import PICTURES, THEME_FIELDS, back_to_usual, set_theme, theme_of
from subscriptions.management.options import add_newsletter, find_subscribable

HELP = {
    "accent": "Of links, buttons and the thin rule, such as #1a5fb4; made readable where it is not.",
    "background": "Behind the posts, such as #faf6ef.",
    "logo_url": "The logo's address, where it is on the web already.",
    "logo_alt": "What the logo says; it then stands in place of the name. Empty for a mark beside it.",
    "header_picture_url": "The address of a picture as wide as the letter.",
    "header_picture_alt": "What is to be seen on it.",
    "header": "A line or two above the posts; [words](https://…) is a link.",
    "footer": "A line or two below the posts.",
    "postal_address": "At the foot of every letter and mail.",
    "subject": "Such as “{newsletter}: {title}”; also {first}, {count}, {date}, and {upstream}, as the old"
    " Feedletter wrote it.",
}


class Command(FeedletterCommand):
    help = "Sets colours, logo and the words around a newsletter's posts. An empty text is the usual look."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        for name, said in HELP.items():
            parser.add_argument(f"--{name.replace('_', '-')}", default=SUPPRESS, metavar="TEXT", help=said)
        parser.add_argument(
            "--logo-width", type=whole, default=SUPPRESS, metavar="N", help="In pixels, as it is shown."
        )
        for name, dest in (("--logo", "logo_picture"), ("--header-picture", "header_picture")):
            said = "A PNG, JPEG, WebP or GIF, which is kept here. Empty: none any more."
            parser.add_argument(name, dest=dest, type=picture, default=SUPPRESS, metavar="FILE", help=said)
        parser.add_argument("--usual", action="store_true", help="Forget all of it.")

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        changes = {name: options[name] for name in (*THEME_FIELDS, *PICTURES) if name in options}
        if options["usual"] and changes:
            raise CommandError("--usual forgets the look: give no other option with it.")
        if options["usual"]:
            back_to_usual(subscribables=[subscribable.pk])
        elif changes:
            set_theme(subscribable=subscribable, **changes)
        theme = theme_of(subscribable)
        return {"name": subscribable.name, **{name: getattr(theme, name) for name in THEME_FIELDS}}
