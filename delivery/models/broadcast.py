"""A letter that an editor writes to a newsletter's subscribers, until it becomes an issue."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from delivery.models.issue import Issue
from subscriptions.models import Subscribable

LETTER_STATES = ("draft", "scheduled", "sent")


class Broadcast(models.Model):
    """What its editor typed. It is a draft, or scheduled (`send_at`), or sent (`issue`)."""

    subscribable = models.ForeignKey(
        Subscribable, on_delete=models.CASCADE, related_name="broadcasts", verbose_name="newsletter"
    )
    subject = models.CharField(max_length=200, blank=True, default="")
    markdown = models.TextField("text", blank=True, default="")
    # Whom it is for: see delivery/issues/audience.py.
    audience = models.JSONField(default=dict, editable=False)
    author = models.CharField(max_length=150, blank=True, default="")
    # Counts the changes: who saves or sends names the one they have seen.
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    changed_at = models.DateTimeField(default=timezone.now, editable=False)
    send_at = models.DateTimeField(null=True, blank=True, editable=False)
    # A scheduled one that could not be made is tried again.
    failures = models.PositiveIntegerField(default=0, editable=False)
    last_error = models.TextField(blank=True, default="", editable=False)
    next_try_at = models.DateTimeField(null=True, blank=True, editable=False)
    issue = models.OneToOneField(
        Issue, on_delete=models.CASCADE, null=True, blank=True, editable=False, related_name="broadcast"
    )

    class Meta:
        verbose_name = "letter of your own"
        verbose_name_plural = "letters of your own"
        ordering = ("-changed_at", "-pk")
        indexes = (
            models.Index(
                name="broadcast_scheduled",
                fields=["next_try_at"],
                condition=Q(issue=None, next_try_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.subject or "Untitled letter"

    @property
    def state(self) -> str:
        """One of LETTER_STATES."""
        if self.issue_id is not None:
            return "sent"
        return "draft" if self.send_at is None else "scheduled"
