"""A restore from a backup: what the backup calls unsent may have been sent since."""

from django.db import models


class Restore(models.Model):
    """While `released_at` is empty, nothing goes out that was there before `begun_at`."""

    begun_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-begun_at",)

    def __str__(self) -> str:
        return f"Restored {self.begun_at}"
