"""What came from another program: which row of ours stands for which of its own."""

from django.db import models
from django.utils import timezone


class Origin(models.Model):
    """`source` and `kind` are words of feedletter_site.migrate_from; `row` is the key of ours, which may be
    gone by now: what people removed here does not come again."""

    source = models.CharField(max_length=20)
    kind = models.CharField(max_length=20)
    old_key = models.CharField(max_length=100)
    row = models.BigIntegerField()
    taken_at = models.DateTimeField(default=timezone.now)
    # Until then a run that was cut off has something left to do.
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(name="origin_once", fields=["source", "kind", "old_key"]),)

    def __str__(self) -> str:
        return f"{self.source} {self.kind} {self.old_key}"
