"""What the archive lists of an issue, and searches."""

from django.db import models

from delivery.models.issue import Issue


class IssueCard(models.Model):
    """The titles of an issue's posts in their order, and its words (delivery.rules.search_words).

    It stands beside the issue so that lists of issues need not carry it along.
    """

    # Without a constraint: the release before knows no cards, and deletes issues.
    issue = models.OneToOneField(
        Issue, on_delete=models.CASCADE, primary_key=True, related_name="card", db_constraint=False
    )
    titles = models.JSONField(default=list)
    words = models.TextField(default="")

    def __str__(self) -> str:
        return str(self.issue)
