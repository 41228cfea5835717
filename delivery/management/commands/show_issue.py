"""`show_issue ID`: one issue, with its counts and the domains with most trouble."""

from dataclasses import asdict
from typing import Any

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues import progress
from delivery.issues.publish import late_subscribers
from delivery.management.issue_rows import add_issue, find_issue, in_full


class Command(FeedletterCommand):
    help = "Shows an issue: how many got it, how many did not, and how fast it goes."
    shared_options = (add_issue,)

    def run(self, **options: Any) -> Result:
        issue = find_issue(options["id"])
        row = {
            **in_full(issue),
            "per_minute": progress.per_minute(issue, now=utcnow()),
            "late_subscribers": late_subscribers(issue).count(),
        }
        domains = progress.domain_figures(issue)
        if options["json"]:
            return {**row, "domains": [asdict(each) for each in domains]}
        trouble = {f"at {each.domain}": words(each) for each in domains if each.trouble}
        return {**row, **trouble}


def words(figures: progress.DomainFigures) -> str:
    named = asdict(figures)
    return ", ".join(f"{named[name]:,} {name}" for name in named if name != "domain" and named[name])
