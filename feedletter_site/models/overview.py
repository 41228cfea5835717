"""What the overview remembers: figures of large tables, and first steps that somebody has put aside."""

from django.db import models
from django.utils import timezone


class Figure(models.Model):
    """Figures that took long to count. Workers count them again every few minutes."""

    name = models.CharField(max_length=64, primary_key=True)
    value = models.JSONField()
    counted_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class FirstStep(models.Model):
    """A step of the checklist that somebody has put aside, or that is done and shows nowhere else."""

    name = models.CharField(max_length=32, primary_key=True)
    is_done = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name
