"""A subscription: a destination that wants a subscribable."""

import secrets
from typing import Self

from django.db import models
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
