"""A feed's subscription at its hub (W3C WebSub)."""

from django.db import models
from django.utils import timezone

from common.secrets import SecretsField
from feeds.models.feed import Feed


class HubSubscription(models.Model):
    """Asked for by us, verified by the hub, renewed before `expires_at`. Its callback has `token`."""

    class State(models.TextChoices):
        WANTED = "wanted", "to be asked for"
        PENDING = "pending", "asked for"
        ACTIVE = "active", "active"
        DENIED = "denied", "denied by the hub"
        LEAVING = "leaving", "to be ended"

    # Null once it has been taken from its feed: the row stays until it is unsubscribed.
    feed = models.OneToOneField(Feed, on_delete=models.SET_NULL, null=True, related_name="hub_subscription")
    hub = models.TextField(max_length=4000)
    topic = models.TextField(max_length=4000)
    made_at = models.DateTimeField(default=timezone.now)
    token = models.CharField(max_length=64, unique=True)
    secret = SecretsField()
    state = models.CharField(max_length=10, choices=State, default=State.WANTED)
    expires_at = models.DateTimeField(null=True, blank=True)
    # When there is something to do next: ask, ask again, renew, end.
    next_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True, default="")
    last_push_at = models.DateTimeField(null=True, blank=True)
    # Digests of the latest pushes: one that comes again, from the hub or an eavesdropper, is not read.
    seen = models.JSONField(default=list, blank=True)
    # Pushes whose signature was wrong or missing.
    refused = models.PositiveIntegerField(default=0)
    # Readings since the last push that found posts the hub had not pushed.
    missed = models.PositiveIntegerField(default=0)
    # When a push came that could not be stored: it is owed until a reading that began later.
    owed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(name="hub_next", fields=["next_at"]),)

    def __str__(self) -> str:
        return f"{self.state} at {self.hub}"
