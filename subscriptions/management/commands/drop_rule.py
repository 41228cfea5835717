"""`drop_rule ID`: delete a rule."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import find, whole
from common.cli.commands import FeedletterCommand, Printed, Result
from subscriptions.collections.post_rules import drop_rule
from subscriptions.models import PostRule


class Command(FeedletterCommand):
    help = "Takes away a rule for posts."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("rule", type=whole, metavar="ID", help="“list_rules NAME” shows it.")

    def run(self, **options: Any) -> Result:
        rows = PostRule.objects.select_related("subscribable")
        rule = find(rows, "rule", "“list_rules NAME” shows those there are.", pk=options["rule"])
        pk, said = rule.pk, drop_rule(rule=rule)
        return Printed(f"No longer a rule of {rule.subscribable}: {said}", {"id": pk, "rule": said})
