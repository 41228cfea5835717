"""`preview_letter NAME`: a mail or page of a newsletter as a reader would get it now."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from delivery.letters.preview import find_reader, preview
from delivery.letters.samples import usual_count
from delivery.letters.templates import known_template
from subscriptions.management.options import add_newsletter, find_subscribable


class Command(FeedletterCommand):
    help = "Prints a mail or page of a newsletter as it would be now, with the newest posts; sends nothing."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument("--template", metavar="T", help="Such as digest or welcome; usually its letter.")
        parser.add_argument(
            "--as", dest="reader", metavar="ADDRESS", help="A subscriber; usually a made-up one."
        )
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--text", action="store_true", help="The text part instead of the html.")
        form.add_argument("--raw", action="store_true", help="The message as it would go out.")

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        if newsletter.channel != "email":
            raise CommandError(f"{newsletter.name} is a bridge: it has no letters.")
        usual = newsletter.template or ("post" if usual_count(newsletter) == 1 else "digest")
        known = known_template(options["template"] or usual)
        shown = preview(
            subscribable=newsletter,
            name=known.name,
            reader=find_reader(newsletter, options["reader"]) if options["reader"] else None,
            now=utcnow(),
        )
        if shown.problem:
            raise CommandError(str(shown.problem))
        if known.is_page and (options["text"] or options["raw"]):
            raise CommandError("A page is html only.")
        if shown.is_made_up:
            self.note("Its feeds have no posts yet: these are made up.")
        form = "raw" if options["raw"] else "text" if options["text"] else "html"
        names = ("subject", "html", "text", "raw")
        facts = {"template": known.name, **{name: getattr(shown, name) for name in names}}
        return Printed(getattr(shown, form).rstrip("\n"), facts)
