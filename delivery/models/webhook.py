"""Webhooks and their calls."""

from collections.abc import Iterable
from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.secrets import SecretsField
from subscriptions.models import Destination, Subscribable


class Webhook(models.Model):
    """Another program's URL. Rests until `free_at` after a failed call."""

    name = models.CharField(max_length=100, help_text="For you alone: what it is for, such as “CRM”.")
    # Not a URLField: hosts in private networks may be called “crm”.
    url = models.CharField("address", max_length=2000)
    # Event types, such as "subscription.confirmed".
    events = models.JSONField(default=list)
    newsletters = models.ManyToManyField(Subscribable, blank=True, related_name="webhooks")
    # {"secret": whsec_…, "previous": its predecessor, which also signs for a day after `rotated_at`}
    secrets = SecretsField()
    rotated_at = models.DateTimeField(null=True, blank=True, editable=False)
    active = models.BooleanField(default=True, editable=False)
    # Set only by its own answer 410.
    disabled_at = models.DateTimeField(null=True, blank=True, editable=False)
    disabled_reason = models.TextField(blank=True, default="", editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    free_at = models.DateTimeField("rests until", null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("name", "pk")

    def __str__(self) -> str:
        return self.name


class WebhookCall(models.Model):
    """One event for one webhook. `lease_token` is set exactly while it is being sent."""

    class State(models.TextChoices):
        QUEUED = "queued"
        SENDING = "sending"
        SENT = "sent"
        FAILED = "failed"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="calls", db_index=False)
    # The same for all webhooks and retries, so that receivers recognise repetitions.
    event_id = models.CharField(max_length=40)
    kind = models.CharField("event", max_length=40)
    # The JSON, byte for byte.
    body = models.TextField()
    # The person concerned: erasing them deletes the log entry.
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, null=True, blank=True)
    # The person was erased: the body is deleted once sent.
    forget = models.BooleanField(default=False, editable=False)
    state = models.CharField(max_length=8, choices=State, default=State.QUEUED)
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    give_up_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    status = models.PositiveSmallIntegerField("last answer", null=True, blank=True)
    error = models.CharField("last error", max_length=500, blank=True, default="")
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        verbose_name = "call of a webhook"
        verbose_name_plural = "calls of webhooks"
        constraints = (
            models.UniqueConstraint(name="webhook_call_once", fields=["webhook", "event_id"]),
            models.CheckConstraint(
                name="webhook_call_leased_exactly_while_sending",
                condition=Q(state="sending", lease_token__isnull=False, lease_until__isnull=False)
                | (~Q(state="sending") & Q(lease_token=None, lease_until=None)),
            ),
        )
        indexes = (
            models.Index(
                name="webhook_call_due", fields=["webhook", "due_at", "id"], condition=Q(state="queued")
            ),
            models.Index(
                name="webhook_call_leases", fields=["webhook", "lease_until"], condition=Q(state="sending")
            ),
            models.Index(name="webhook_call_created", fields=["created_at"]),
        )

    def __str__(self) -> str:
        return self.kind


class HubSubscriberQuerySet(models.QuerySet["HubSubscriber"]):
    def owe(self, newsletters: Iterable[int], now: datetime) -> None:
        """Owe a push of these newsletters' feeds, in the transaction that publishes an issue."""
        theirs = self.filter(subscribable__in=list(newsletters), expires_at__gt=now)
        theirs.update(owes=True, failures=0, due_at=now)


class HubSubscriber(models.Model):
    """Program that gets a newsletter's feed by our hub, once its callback agreed, until `expires_at`."""

    class Asks(models.TextChoices):
        NOTHING = "", "nothing"
        SUBSCRIBE = "subscribe", "to subscribe"
        UNSUBSCRIBE = "unsubscribe", "to unsubscribe"

    subscribable = models.ForeignKey(
        Subscribable, on_delete=models.CASCADE, related_name="hub_subscribers", db_index=False
    )
    callback = models.CharField(max_length=1000)
    host = models.CharField(max_length=300, db_index=True)
    # A request that its callback has to agree to, with {"secret", "seconds"}, which replace `secrets`.
    asks = models.CharField(max_length=11, choices=Asks, blank=True, default="")
    asked = SecretsField()
    secrets = SecretsField()
    expires_at = models.DateTimeField(null=True, blank=True)
    # A push waits. `due_at` is when a worker has something to do.
    owes = models.BooleanField(default=False)
    failures = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(null=True, blank=True)

    objects = HubSubscriberQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(name="hub_subscriber", fields=["subscribable", "callback"]),)
        indexes = (
            models.Index(name="hub_subscriber_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
        )

    def __str__(self) -> str:
        return self.callback
