"""`add_rule NAME`: add a rule for posts."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from subscriptions.collections.post_rules import add_rule
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.management.rows import rule_row
from subscriptions.models import PostRule

TESTS = {"contains": "contains", "is": "equals", "matches": "matches"}


class Command(FeedletterCommand):
    help = "Adds a rule: which posts a newsletter takes, or what is changed in them."
    option_names = {"replacement": "--with", "pattern": "the rule"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        action = parser.add_mutually_exclusive_group(required=True)
        action.add_argument("--drop", dest="action", action="store_const", const="drop", help="Leave out.")
        action.add_argument("--keep", dest="action", action="store_const", const="keep", help="Keep only.")
        action.add_argument("--replace", dest="action", action="store_const", const="replace")
        fields = [PostRule.Field(value).value for value in PostRule.Field.values]
        parser.add_argument(
            "--field", choices=fields, default="any", help="Where it looks; content is the text."
        )
        test = parser.add_mutually_exclusive_group(required=True)
        test.add_argument("--contains", metavar="WORDS", help="In any case, with accents as written.")
        test.add_argument("--is", metavar="WORDS", help="All there is in the field.")
        test.add_argument("--matches", metavar="EXPRESSION", help="A regular expression, in this case.")
        parser.add_argument(
            "--with", dest="replacement", default="", metavar="TEXT", help=r"For --replace; \1: first group."
        )

    def run(self, **options: Any) -> Result:
        option = next(name for name in TESTS if options[name] is not None)
        rule = add_rule(
            subscribable=find_subscribable(options["newsletter"]),
            action=options["action"],
            field=options["field"],
            test=TESTS[option],
            pattern=options[option],
            replacement=options["replacement"],
        )
        return rule_row(rule)
