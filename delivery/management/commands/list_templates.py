"""`list_templates NAME`: the mails and pages of a newsletter, and which have a template of their own."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from delivery.letters.templates import known_templates
from delivery.management.templates import template_row
from delivery.models import LetterTemplate
from subscriptions.management.options import add_newsletter, find_subscribable


class Command(FeedletterCommand):
    help = "Lists the mails and pages of a newsletter; version 0 is the default template."
    shared_options = (add_newsletter,)

    def run(self, **options: Any) -> Result:
        rows = LetterTemplate.objects.filter(
            subscribable=find_subscribable(options["newsletter"]), is_current=True
        )
        own = {row.name: row for row in rows.defer("html", "text")}
        return [template_row(known, own.get(known.name)) for known in known_templates()]
