"""A host: one worker at a time reads its feeds, so that limits on its requests hold across workers."""

from django.db import models
from django.db.models import Q


class Host(models.Model):
    """`free_at` is the earliest moment of the next request: after a gap, or when it wishes (429)."""

    name = models.CharField(max_length=255, unique=True)
    free_at = models.DateTimeField(null=True, blank=True)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(
                name="host_leased_whole",
                condition=Q(lease_token=None, lease_until=None)
                | Q(lease_token__isnull=False, lease_until__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.name
