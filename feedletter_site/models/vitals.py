"""The service's signs of life: when each stage ran last, and how often things happened."""

from django.db import models
from django.db.models.functions import Now


class Stage(models.Model):
    """A stage, as workers and beat saw it last. Stored every few seconds, and not in the cache."""

    name = models.CharField(max_length=64, primary_key=True)
    # When the row was made. A stage that never ran is late from here on.
    since = models.DateTimeField(db_default=Now())
    ran_at = models.DateTimeField(null=True)
    ticked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class Counted(models.Model):
    """How often something happened since the database was made. Only grows."""

    name = models.CharField(max_length=64)
    label = models.CharField(max_length=64, db_default="")
    count = models.BigIntegerField(db_default=0)

    class Meta:
        constraints = (models.UniqueConstraint(name="counted_once", fields=["name", "label"]),)

    def __str__(self) -> str:
        return f"{self.name} {self.label}: {self.count}"
