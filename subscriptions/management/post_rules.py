from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result, argument, positive
from subscriptions.collections.post_rules import TRIED, add_rule, try_rules
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.models import PostRule
from subscriptions.resources.subscribers import rules

TESTS = {"contains": "contains", "is": "equals", "matches": "matches"}


class AddRule(FeedletterCommand):
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
        test.add_argument(
            "--contains", metavar="WORDS", help="Upper and lower case match, accents must match."
        )
        test.add_argument("--is", metavar="WORDS", help="The whole text of the field.")
        test.add_argument("--matches", metavar="EXPRESSION", help="A regular expression; case must match.")
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
        return rules.shown(rule)


class TryRules(FeedletterCommand):
    help = "Shows what the rules of a newsletter would do to the current posts of its feeds."
    empty = "Its feeds have not been read yet, or are empty."
    arguments = (
        add_newsletter,
        argument("--limit", type=positive, default=TRIED, help="The most posts to show."),
    )

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        return (
            {
                "title": tried.title,
                "kept": tried.is_kept,
                "why_not": tried.reason,
                "changed_by": " ".join(tried.changed_by),
                "trouble": " ".join(tried.troubles),
            }
            for tried in try_rules(subscribable, options["limit"])
        )
