"""Outgoing mail accounts, set up in the admin or by a command. EMAIL_URL's is none of them."""

from typing import Self

from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from common.secrets import SecretsField

EMAIL = "email"
# Whose accounts are set up elsewhere, or by nobody: notifications have one key, which never changes.
NOT_OF_SERVICES = (EMAIL, "webpush")


class AccountQuerySet(models.QuerySet["Account"]):
    def mail(self) -> Self:
        return self.filter(kind=EMAIL)

    def of_services(self) -> Self:
        """Those of bridges, such as bots."""
        return self.exclude(kind__in=NOT_OF_SERVICES)


class Account(models.Model):
    """An account of ours at a service, such as an SMTP server or a bot, that newsletters may be sent through.

    Its name is its lane's. One mail account may be the default: then it carries all that names no account, in
    the lane `default`, unless EMAIL_URL is set.
    """

    name = models.CharField(
        max_length=64,
        unique=True,
        validators=[RegexValidator(r"\A(?!default\Z)[a-z0-9-]{1,64}\Z", "Use a–z, 0–9 and dashes.")],
        help_text="Such as second-server. Newsletters are sent through it by this name.",
    )
    # The channel that it belongs to.
    kind = models.CharField(max_length=20, default="email", db_default="email", editable=False)
    # What the channel needs of it; of mail {"url": as EMAIL_URL}, which holds a password.
    secrets = SecretsField()
    # How a service calls it, where it was asked.
    label = models.CharField(max_length=320, blank=True, default="", db_default="", editable=False)
    # As DEFAULT_FROM_EMAIL. Empty: that one.
    sender = models.CharField(max_length=320, blank=True, default="", db_default="")
    is_default = models.BooleanField(default=False, db_default=False, editable=False)
    # The last trial: when it was, and why it did not work; empty if it did.
    tried_at = models.DateTimeField(null=True, blank=True, editable=False)
    trouble = models.TextField(blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = AccountQuerySet.as_manager()

    class Meta:
        # The table and the admin belong to delivery, which loads this module.
        app_label = "delivery"
        ordering = ("name",)
        verbose_name = "mail account"
        constraints = (
            models.UniqueConstraint(
                name="account_one_default", fields=["is_default"], condition=models.Q(is_default=True)
            ),
        )

    def __str__(self) -> str:
        return self.name


class ServiceAccountManager(models.Manager["ServiceAccount"]):
    def get_queryset(self) -> "models.QuerySet[ServiceAccount]":
        return super().get_queryset().exclude(kind__in=NOT_OF_SERVICES)


class ServiceAccount(Account):
    """An account of any kind but mail's, with admin pages of its own."""

    objects = ServiceAccountManager()  # type: ignore[assignment, misc]

    class Meta:
        app_label = "delivery"
        proxy = True
        verbose_name = "account of a service"
        verbose_name_plural = "accounts of services"
