"""How often something happened lately, for limits to be checked against."""

from django.db import models


class Tally(models.Model):
    """The count of one slice of time. `key` is a digest: addresses of people do not stand here."""

    scope = models.CharField(max_length=16)
    key = models.CharField(max_length=32)
    began_at = models.DateTimeField(db_index=True)
    # A count that many sign-ups add to at once has several rows, so that they need not wait for each other.
    shard = models.PositiveSmallIntegerField(default=0)
    count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(name="tally_once", fields=["key", "began_at", "shard"]),)

    def __str__(self) -> str:
        return f"{self.scope}: {self.count}"
