from django.db import models

from common.rates import TABLE


class Tally(models.Model):
    """Count in a slice of time (common.rates). `key` is a digest, to store no addresses."""

    scope = models.CharField(max_length=20)
    key = models.CharField(max_length=32)
    began_at = models.DateTimeField(db_index=True)
    # Contended counts have several rows, to avoid waiting for locks.
    shard = models.PositiveSmallIntegerField(default=0)
    count = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = TABLE
        constraints = (models.UniqueConstraint(name="tally_once", fields=["key", "began_at", "shard"]),)

    def __str__(self) -> str:
        return f"{self.scope}: {self.count}"
