"""The ledger: one row per message and destination, with its queries.

Changes of published posts, to be repeated where the posts were sent.

Kept messages, and one row per bounce or complaint.
"""

from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple, Self

from django.db import models
from django.db.models import Count, Q, Value
from django.utils import timezone

from common.db.bulk import counted_by
from delivery.models.issue import Issue
from delivery.models.lane import Lane
from subscriptions.models import Destination, Subscription

WAITING = ("queued", "deferred")
PENDING_STATES = (*WAITING, "sending")
NOT_FINISHED = (*PENDING_STATES, "held")
# Replaces a mail's context, whose links grant access.
FORGOTTEN_CONTEXT: dict[str, Any] = {"forgotten": True}


class Restore(models.Model):
    """Until `released_at`, nothing from before `begun_at` is sent."""

    begun_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-begun_at",)

    def __str__(self) -> str:
        return f"Restored {self.begun_at}"


class Unsent(NamedTuple):
    """Counts. `waiting`: queued, deferred or being sent; `held`: waiting for a person."""

    waiting: int = 0
    held: int = 0


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def waiting(self) -> Self:
        return self.filter(state__in=WAITING)

    def due(self, now: datetime) -> Self:
        return self.waiting().filter(due_at__lte=now)

    def expired(self, now: datetime) -> Self:
        """Return rows whose lease ran out during sending."""
        return self.filter(state="sending", lease_until__lt=now)

    def unsent(self) -> Unsent:
        """Count in one query, with an index for each part."""
        parts = [
            rows.order_by().values_list(Value(name)).annotate(n=Count("pk"))
            for name, rows in (
                ("waiting", self.waiting()),
                ("sending", self.filter(state="sending")),
                ("held", self.filter(state="held")),
            )
        ]
        counts = dict(parts[0].union(*parts[1:], all=True))
        return Unsent(counts.get("waiting", 0) + counts.get("sending", 0), counts.get("held", 0))

    def counts(self) -> dict[str, int]:
        """Count by state. Large numbers of sent, stored and cancelled rows are estimates."""
        due = ("lane", "priority", "due_at", "pk")
        found_by = {"queued": due, "deferred": due, "sending": ("lease_until",)}
        return counted_by(self, "state", found_by=found_by | dict.fromkeys(("failed", "held"), ("pk",)))


class Delivery(models.Model):
    """One message to one destination. `lease_token` is set exactly while it is being sent."""

    class Kind(models.TextChoices):
        ISSUE = "issue"
        CONFIRMATION = "confirmation"
        WELCOME = "welcome"
        SIGN_IN = "sign_in"
        FAREWELL = "farewell"
        ALERT = "alert"
        TEST = "test"
        EDIT = "edit", "edit of a post"
        DELETE = "delete", "deletion of a post"

    # Changes of sent posts, which are harmless to repeat.
    CHANGES = (Kind.EDIT, Kind.DELETE)

    class State(models.TextChoices):
        QUEUED = "queued"
        SENDING = "sending"
        SENT = "sent"
        STORED = "stored", "kept in the mailbox"
        DEFERRED = "deferred"
        FAILED = "failed"
        HELD = "held"
        CANCELLED = "cancelled"

    class Priority(IntEnum):
        """Lower is sent first."""

        FIRST = 1
        ISSUE = 5

    class HeldFor(models.TextChoices):
        """Reason of a hold. Empty: a person must look at this delivery."""

        PAUSE = "pause", "its issue or newsletter is paused"
        DOMAIN = "domain", "its domain is paused"
        RESTORE = "restore", "a backup was restored"

    kind = models.CharField(max_length=12, choices=Kind, default=Kind.ISSUE)
    issue = models.ForeignKey(
        Issue, on_delete=models.CASCADE, null=True, blank=True, related_name="deliveries", db_index=False
    )
    # delivery_once_per_issue begins with this column.
    destination = models.ForeignKey(
        Destination, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    subscription = models.ForeignKey(
        Subscription, on_delete=models.SET_NULL, null=True, blank=True, related_name="deliveries"
    )
    # For kinds other than issue: its template and values, and a key that makes it unique.
    key = models.CharField(max_length=128, blank=True, default="")
    template = models.CharField(max_length=64, blank=True, default="")
    language = models.CharField(max_length=35, blank=True, default="")
    context = models.JSONField(default=dict, blank=True)

    # Of its issue's text. Decided while it waits, so that repeated attempts send the same.
    version = models.SmallIntegerField(default=0, db_default=0, editable=False)
    lane = models.ForeignKey(Lane, on_delete=models.PROTECT, related_name="deliveries", db_index=False)
    domain = models.CharField(max_length=255, blank=True, default="")
    priority = models.PositiveSmallIntegerField(default=5, help_text="Lower is sent first.")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    held_for = models.CharField(max_length=8, choices=HeldFor, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveIntegerField(default=0)
    # First attempt with unknown end: channels that can look up messages search from here.
    begun_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    remote_id = models.CharField(max_length=255, blank=True, default="")
    last_error = models.TextField(blank=True, default="")

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "deliveries"
        constraints = (
            # Mails without an issue are all distinct here.
            models.UniqueConstraint(name="delivery_once_per_issue", fields=["destination", "issue"]),
            models.UniqueConstraint(
                name="delivery_once_per_key", fields=["kind", "key"], condition=Q(issue__isnull=True)
            ),
            models.CheckConstraint(
                name="delivery_issue_exactly_for_issues",
                condition=Q(kind="issue", issue__isnull=False) | (~Q(kind="issue") & Q(issue=None)),
            ),
            models.CheckConstraint(
                name="delivery_leased_exactly_while_sending",
                condition=Q(state="sending", lease_token__isnull=False, lease_until__isnull=False)
                | (~Q(state="sending") & Q(lease_token=None, lease_until=None)),
            ),
        )
        indexes = (
            models.Index(
                name="delivery_due",
                # Includes the key: an issue's rows are due at once and claimed in its order.
                fields=["lane", "priority", "due_at", "id"],
                condition=Q(state__in=("queued", "deferred")),
            ),
            models.Index(name="delivery_held", fields=["held_for", "lane"], condition=Q(state="held")),
            models.Index(name="delivery_leases", fields=["lease_until"], condition=Q(state="sending")),
            models.Index(name="delivery_issue_state", fields=["issue", "state"]),
            # For the few rows that people look for; millions need no index. The time is for the overview,
            # which counts the failures of a week.
            models.Index(
                name="delivery_aside",
                fields=["state", "id", "created_at"],
                condition=Q(state__in=("failed", "cancelled", "held")),
            ),
            models.Index(
                name="delivery_sent", fields=["sent_at"], condition=Q(kind="issue", sent_at__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"{self.issue or self.get_kind_display()} to {self.destination}"


class Attempt(models.Model):
    """Unsuccessful attempt, in the server's words. Success is recorded on the Delivery."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempt_rows")
    at = models.DateTimeField(default=timezone.now)
    outcome = models.CharField(max_length=16)
    # Enhanced status code (RFC 3463), such as 5.7.1, or empty.
    status = models.CharField(max_length=9, blank=True, default="")
    text = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.outcome}: {self.text[:60]}"


class Receipt(models.Model):
    """A delivery's latest known status at the service, with its code."""

    class Status(models.TextChoices):
        """In chronological order; the last three are final."""

        QUEUED = "queued", "waits at the service"
        SENT = "sent", "handed to the phone network"
        DELIVERED = "delivered", "arrived on the phone"
        UNDELIVERED = "undelivered", "did not arrive"
        FAILED = "failed", "was not sent"

    # No constraint: the previous release deletes deliveries without knowing receipts.
    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, primary_key=True, related_name="receipt", db_constraint=False
    )
    status = models.CharField(max_length=12, choices=Status)
    code = models.CharField(max_length=10, blank=True, default="")
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.get_status_display()}{f' ({self.code})' if self.code else ''}"


class RemotePost(models.Model):
    """Where a bridge's post is, with a thread's other posts.

    Before sending: finished steps, such as uploaded pictures (see Session.send).
    """

    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, primary_key=True, related_name="remote_post"
    )
    url = models.TextField(blank=True, default="")
    # The service's ids in thread order; the first post's is the delivery's remote_id.
    parts = models.JSONField(default=list)
    progress = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.url or f"of delivery {self.delivery_id}"


class CorrectionQuerySet(models.QuerySet["Correction"]):
    def due(self, now: datetime) -> Self:
        return self.filter(look_at__lte=now)


class Correction(models.Model):
    """An issue's post with its feed's new text, or its withdrawal, without text.

    Numbered per issue. The IssueItem keeps what was sent.
    """

    issue = models.ForeignKey(Issue, on_delete=models.CASCADE, related_name="corrections", db_index=False)
    number = models.PositiveSmallIntegerField()
    # In the feed.
    seen_at = models.DateTimeField()
    entry = models.JSONField(null=True, blank=True)
    content_hash = models.CharField(max_length=80, blank=True, default="")
    # Next check while deliveries for it remain to be made. Those being sent are waited for.
    look_at = models.DateTimeField(null=True, blank=True)

    objects = CorrectionQuerySet.as_manager()

    class Meta:
        ordering = ("issue", "number")
        constraints = (models.UniqueConstraint(name="correction_number", fields=["issue", "number"]),)
        indexes = (
            models.Index(name="correction_due", fields=["look_at"], condition=Q(look_at__isnull=False)),
        )

    def __str__(self) -> str:
        return f"{'Withdrawal' if self.is_withdrawal else 'Correction'} of {self.issue}"

    @property
    def is_withdrawal(self) -> bool:
        return not self.content_hash


class MailboxMessage(models.Model):
    """The message exactly as it would have been sent."""

    delivery = models.OneToOneField(Delivery, on_delete=models.CASCADE, related_name="kept_message")
    recipient = models.CharField(max_length=320)
    subject = models.TextField(blank=True, default="")
    stored_at = models.DateTimeField(default=timezone.now)
    raw = models.BinaryField()

    class Meta:
        ordering = ("-stored_at", "-pk")

    def __str__(self) -> str:
        return self.subject


class Bounce(models.Model):
    """Report. Has a delivery, and effects, only if it proved which delivery it concerns."""

    class Kind(models.TextChoices):
        COMPLAINT = "complaint"
        HARD = "hard", "does not exist"
        SOFT = "soft", "not now"
        POLICY = "policy", "not from us"
        DELAYED = "delayed"
        UNKNOWN = "unknown"

    delivery = models.ForeignKey(
        Delivery, on_delete=models.SET_NULL, null=True, blank=True, related_name="bounces"
    )
    destination = models.ForeignKey(
        Destination, on_delete=models.CASCADE, null=True, blank=True, related_name="bounces"
    )
    domain = models.CharField(max_length=255, blank=True, default="")
    kind = models.CharField(max_length=12, choices=Kind)
    status = models.CharField(max_length=16, blank=True, default="")
    diagnostic = models.TextField("the server’s answer", blank=True, default="")
    # Address in the report, for people investigating an unclear one.
    recipient = models.CharField(max_length=320, blank=True, default="")
    at = models.DateTimeField(default=timezone.now)
    effect = models.CharField("what was done", max_length=255, blank=True, default="")
    held = models.BooleanField("waits for you", default=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)

    class Meta:
        ordering = ("-at", "-pk")
        indexes = (
            models.Index(name="bounce_of_destination", fields=["destination", "at"]),
            models.Index(name="bounce_of_domain", fields=["domain", "at"]),
            models.Index(name="bounce_at", fields=["at"]),
            models.Index(name="bounce_unproven", fields=["at"], condition=Q(delivery=None)),
            models.Index(name="bounce_held", fields=["at"], condition=Q(held=True)),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.destination or self.recipient or 'nobody known'}"
