import secrets
from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.secrets import SecretsField
from subscriptions.models.destination import Destination, Suppression
from subscriptions.models.subscribable import Subscribable


def random_token() -> str:
    return secrets.token_urlsafe(24)


class SubscriptionQuerySet(models.QuerySet["Subscription"]):
    def confirmed(self) -> Self:
        """Exclude those ended by a switch, with letters in transit."""
        return self.filter(status="confirmed", ended_at=None)

    def reachable(self) -> Self:
        return self.confirmed().filter(destination__disabled_at=None)

    def with_suppressed(self) -> Self:
        same = {"kind": OuterRef("destination__kind"), "core": OuterRef("destination__core")}
        return self.select_related("destination").annotate(
            suppressed=Exists(Suppression.objects.filter(**same))
        )


class Subscription(models.Model):
    """Kept after leaving, for imports and repeated clicks."""

    class LeftWhy(models.TextChoices):
        TOO_OFTEN = "too_often", _("I got it too often")
        NOT_FOR_ME = "not_for_me", _("It isn’t what I expected")
        NO_TIME = "no_time", _("I don’t have time to read it")
        ELSEWHERE = "elsewhere", _("I read it elsewhere: on the web, by RSS")
        NOT_ASKED = "not_asked", _("I never asked for it")
        OTHER = "other", _("Something else")

    class Status(models.TextChoices):
        UNCONFIRMED = "unconfirmed", "not confirmed yet"
        CONFIRMED = "confirmed", "confirmed"
        UNSUBSCRIBED = "unsubscribed", "left"

    subscribable = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="subscriptions")
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="subscriptions")
    display_name = models.CharField("name", max_length=200, blank=True, default="")
    # Becomes the display name on confirmation.
    asked_name = models.CharField(max_length=200, blank=True, default="", editable=False)
    status = models.CharField(max_length=12, choices=Status, default=Status.UNCONFIRMED)
    language = models.CharField(max_length=35, blank=True, default="")
    added_at = models.DateTimeField("added", default=timezone.now)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    left_at = models.DateTimeField(null=True, blank=True)
    left_why = models.CharField(
        max_length=10, choices=LeftWhy, blank=True, default="", db_default="", editable=False
    )
    paused_until = models.DateTimeField(null=True, blank=True)
    # Until then, leaving can be undone.
    undo_until = models.DateTimeField(null=True, blank=True, editable=False)
    # Set by a switch: earlier collections belong to the other newsletter.
    receives_from = models.DateTimeField(null=True, blank=True, editable=False)
    receives_until = models.DateTimeField(null=True, blank=True, editable=False)
    # Ended by a switch, with letters in transit.
    ended_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Number in upstream's database (see number_here). Further ones are OldNumbers.
    upstream_id = models.BigIntegerField(null=True, blank=True, unique=True)
    # Links must work for years, even if SECRET_KEY changes (RFC 8058).
    token = models.CharField(max_length=64, default=random_token, editable=False)
    # Set while it may be confirmed.
    confirm_nonce = models.CharField(max_length=64, blank=True, default="", editable=False)
    # Unix times of the last day's mails.
    notices_at = models.JSONField(null=True, blank=True, editable=False)

    objects = SubscriptionQuerySet.as_manager()

    class Meta:
        ordering = ("-added_at", "-pk")
        constraints = (
            models.UniqueConstraint(name="subscription_once", fields=["subscribable", "destination"]),
        )
        indexes = (
            # The time is for late subscribers.
            models.Index(name="subscription_recipients", fields=["subscribable", "status", "confirmed_at"]),
            models.Index(
                name="subscription_left_why",
                fields=["subscribable", "left_why"],
                condition=~models.Q(left_why=""),
            ),
            models.Index(
                name="subscription_ending", fields=["ended_at"], condition=models.Q(ended_at__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"{self.destination} → {self.subscribable}"

    @property
    def is_beside(self) -> bool:
        """A device: another channel than the newsletter's."""
        return self.destination.kind != self.subscribable.channel


class OldNumber(models.Model):
    """Another number in upstream's database.

    Two addresses there that differ in case are one here.
    """

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="old_numbers")
    number = models.BigIntegerField(unique=True)

    def __str__(self) -> str:
        return str(self.number)


class UpstreamSalt(models.Model):
    """Salt that proves the links of one of upstream's databases; its numbers are stored by number_here."""

    place = models.PositiveSmallIntegerField(unique=True)
    secrets = SecretsField()

    def __str__(self) -> str:
        return f"salt of database {self.place}"


class Consent(models.Model):
    """One act, with the text as shown."""

    class Act(models.TextChoices):
        ASKED = "asked", "asked for it"
        CONFIRMED = "confirmed", "confirmed"
        IMPORTED = "imported", "imported from a list"
        ADDED = "added", "added by an admin"
        SWITCHED = "switched", "switched from another newsletter"

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="consents")
    act = models.CharField(max_length=9, choices=Act)
    at = models.DateTimeField(default=timezone.now)
    how = models.CharField(max_length=10, blank=True, default="")
    words = models.TextField(blank=True, default="")
    # If Subscribable.keep_ip.
    ip = models.GenericIPAddressField(null=True, blank=True)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.subscription_id}: {self.act}"


class FrequencyChange(models.Model):
    """Switch between newsletters, kept as a record.

    The collections of the `rarer` newsletter that end by `at`, or (every n) have a number up to `number`,
    belong to the old subscription, with all their posts.
    """

    old = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="switches_away")
    new = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="switches_here")
    rarer = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(null=True, blank=True)
    number = models.PositiveBigIntegerField(null=True, blank=True)
    # The reader had the new one before, and keeps it.
    was_there = models.BooleanField(default=False)
    made_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("made_at", "pk")
        verbose_name_plural = "switches"
        constraints = (
            models.UniqueConstraint(
                name="switch_away_once", fields=["old"], condition=Q(settled_at__isnull=True)
            ),
            models.UniqueConstraint(
                name="switch_here_once", fields=["new"], condition=Q(settled_at__isnull=True)
            ),
            models.CheckConstraint(
                name="switch_by_time_or_number",
                condition=Q(at__isnull=False, number=None) | Q(at=None, number__isnull=False),
            ),
        )
        indexes = (models.Index(name="switch_open", fields=["rarer"], condition=Q(settled_at__isnull=True)),)

    def __str__(self) -> str:
        return f"{self.old_id} → {self.new_id}"


class SeriesRun(models.Model):
    """A subscriber's way through the series of a newsletter (delivery/issues/send_series.py).

    After a switch, `subscription` is the one to the other newsletter.
    """

    # No constraints: the previous release deletes both without knowing runs.
    subscription = models.ForeignKey(
        Subscription, on_delete=models.CASCADE, related_name="series_runs", db_constraint=False
    )
    newsletter = models.ForeignKey(
        Subscribable,
        on_delete=models.CASCADE,
        related_name="series_runs",
        db_constraint=False,
        db_index=False,
    )
    # Of the subscriber's browser. Empty: the newsletter's.
    time_zone = models.CharField(max_length=64, blank=True, default="")
    begun_at = models.DateTimeField(default=timezone.now)
    # Keys of the emails that were queued and of their deliveries, in order, and when the last one was.
    sent = models.JSONField(default=list)
    deliveries = models.JSONField(default=list)
    last_at = models.DateTimeField(null=True)
    # When to look what to do. None: it is over, or waits until they come back.
    due_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(name="series_run_once", fields=["subscription", "newsletter"]),
        )
        indexes = (
            models.Index(
                name="series_run_due", fields=["newsletter", "due_at"], condition=Q(due_at__isnull=False)
            ),
            models.Index(name="series_run_under_way", fields=["newsletter"], condition=Q(ended_at=None)),
        )

    def __str__(self) -> str:
        return f"{self.subscription_id} in the series of {self.newsletter_id}"


class Notice(models.Model):
    """At most one for each (kind, key). Read and deleted in one transaction."""

    class Kind(models.TextChoices):
        CONFIRMATION = "confirmation"
        WELCOME = "welcome"
        SIGN_IN = "sign_in"
        FAREWELL = "farewell"

    kind = models.CharField(max_length=12, choices=Kind)
    key = models.CharField(max_length=128)
    destination = models.ForeignKey(Destination, on_delete=models.CASCADE)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, null=True, blank=True)
    template = models.CharField(max_length=64)
    language = models.CharField(max_length=35, blank=True, default="")
    context = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(name="notice_once", fields=["kind", "key"]),)

    def __str__(self) -> str:
        return f"{self.kind} to {self.destination_id}"
