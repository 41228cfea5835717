"""`list_rules NAME`: a newsletter's rules for posts."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.management.rows import rule_row


class Command(FeedletterCommand):
    help = "Lists the rules of a newsletter for the posts of its feeds."
    empty = "It has no rules: it takes every post as it is. Add one: add_rule NAME --drop --contains WORDS"
    shared_options = (add_newsletter,)

    def run(self, **options: Any) -> Result:
        return (rule_row(rule) for rule in find_subscribable(options["newsletter"]).post_rules.all())
