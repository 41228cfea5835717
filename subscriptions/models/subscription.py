"""A subscription: a destination that wants a subscribable."""

import secrets
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from subscriptions.models.destination import Destination
from subscriptions.models.subscribable import Subscribable


def random_token() -> str:
    return secrets.token_urlsafe(24)


class SubscriptionQuerySet(models.QuerySet["Subscription"]):
    def confirmed(self) -> Self:
        """Without subscriptions that a switch has ended and whose last letters are still on their way."""
        return self.filter(status="confirmed", ended_at=None)

    def reachable(self) -> Self:
        """Confirmed, and the destination not disabled."""
        return self.confirmed().filter(destination__disabled_at=None)


class Subscription(models.Model):
    """Kept after leaving, so that an import or a second click finds out what happened."""

    class LeftWhy(models.TextChoices):
        """What a reader may say about leaving."""

        TOO_OFTEN = "too_often", _("It came too often")
        NOT_FOR_ME = "not_for_me", _("It is not what I expected")
        NO_TIME = "no_time", _("I do not get round to reading it")
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
    # What a sign-up asked for: becomes the display name when that sign-up is confirmed.
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
    # The reader left, and may take that back until then.
    undo_until = models.DateTimeField(null=True, blank=True, editable=False)
    # A switch of frequency: collections that begin before, or end after, belong to the other newsletter.
    receives_from = models.DateTimeField(null=True, blank=True, editable=False)
    receives_until = models.DateTimeField(null=True, blank=True, editable=False)
    # Ended by a switch, while its last letters are still on their way. After that it has left.
    ended_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Its number in the Feedletter before this one; further ones are OldNumbers.
    upstream_id = models.BigIntegerField(null=True, blank=True, unique=True)
    # Links in letters must work for years, whatever happens to SECRET_KEY (RFC 8058).
    token = models.CharField(max_length=64, default=random_token, editable=False)
    # Set while a confirmation may be used; cleared by using it and by leaving.
    confirm_nonce = models.CharField(max_length=64, blank=True, default="", editable=False)
    # When sign-ups had a mail sent here within the last day, in seconds since 1970.
    notices_at = models.JSONField(null=True, blank=True, editable=False)

    objects = SubscriptionQuerySet.as_manager()

    class Meta:
        ordering = ("-added_at", "-pk")
        constraints = (
            models.UniqueConstraint(name="subscription_once", fields=["subscribable", "destination"]),
        )
        indexes = (
            models.Index(name="subscription_recipients", fields=["subscribable", "status"]),
            models.Index(
                name="subscription_left_why",
                fields=["subscribable", "left_why"],
                condition=~models.Q(left_why=""),
            ),
            models.Index(
                name="subscription_ending",
                fields=["ended_at"],
                condition=models.Q(ended_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.destination} → {self.subscribable}"

    @property
    def is_beside(self) -> bool:
        """Whether it comes by another channel than the newsletter's own: to a device."""
        return self.destination.kind != self.subscribable.channel


class OldNumber(models.Model):
    """A further number that a subscription had in the Feedletter before this one.

    Two addresses there, alike but for upper and lower case, are one here; the links of both go on working.
    """

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="old_numbers")
    number = models.BigIntegerField(unique=True)

    def __str__(self) -> str:
        return str(self.number)


class Consent(models.Model):
    """One act of consent: when, how, and the very text that was shown. Kept as long as the subscription."""

    class Act(models.TextChoices):
        ASKED = "asked", "asked for it"
        CONFIRMED = "confirmed", "confirmed"
        IMPORTED = "imported", "taken over from a list"
        ADDED = "added", "added by an admin"
        SWITCHED = "switched", "switched from another newsletter"

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="consents")
    act = models.CharField(max_length=9, choices=Act)
    at = models.DateTimeField(default=timezone.now)
    how = models.CharField(max_length=10, blank=True, default="")
    words = models.TextField(blank=True, default="")
    # Only where the newsletter keeps it (Subscribable.keep_ip).
    ip = models.GenericIPAddressField(null=True, blank=True)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.subscription_id}: {self.act}"


class FrequencyChange(models.Model):
    """Kept when it is over: it says what became of the old subscription.

    The collections of the newsletter that comes `rarer` decide. Those that end by `at`, or (every n) have a
    number up to `number`, belong to the old subscription, and so does every post in them.
    """

    old = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="switches_away")
    new = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="switches_here")
    rarer = models.ForeignKey(Subscribable, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(null=True, blank=True)
    number = models.PositiveBigIntegerField(null=True, blank=True)
    # The reader had the new one before the switch: it goes on as it was, whatever becomes of that.
    was_there = models.BooleanField(default=False)
    made_at = models.DateTimeField(default=timezone.now)
    # Since then it decides about no more issues: the old one has ended, but for what is on its way.
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


class Notice(models.Model):
    """A wish for one mail, at most one for each (kind, key). Taken and deleted in one transaction."""

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
