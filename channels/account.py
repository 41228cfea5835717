"""Outgoing mail accounts, from the admin or a command; not EMAIL_URL's."""

from typing import Self

from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from common.secrets import SecretsField

EMAIL = "email"
# Set up elsewhere (mail), or by nobody: notifications have one key, which never changes.
NOT_OF_SERVICES = (EMAIL, "webpush")


class AccountQuerySet(models.QuerySet["Account"]):
    def mail(self) -> Self:
        return self.filter(kind=EMAIL)


class Account(models.Model):
    """Our account at a service, such as an SMTP server or a bot.

    Its name is its lane's. A default mail account is used, in the lane `default`, for everything without an
    account, unless EMAIL_URL is set.
    """

    name = models.CharField(
        max_length=64,
        unique=True,
        validators=[RegexValidator(r"\A(?!default\Z)[a-z0-9-]{1,64}\Z", "Use a–z, 0–9 and dashes.")],
        help_text="For example second-server. Newsletters name the account by this.",
    )
    kind = models.CharField(max_length=20, default="email", db_default="email", editable=False)
    # For mail: {"url": …} in the format of EMAIL_URL, which may include a password.
    secrets = SecretsField()
    # The service's name for it, if known.
    label = models.CharField(max_length=320, blank=True, default="", db_default="", editable=False)
    # In the format of DEFAULT_FROM_EMAIL, which is used if empty.
    sender = models.CharField(max_length=320, blank=True, default="", db_default="")
    is_default = models.BooleanField(default=False, db_default=False, editable=False)
    tried_at = models.DateTimeField(null=True, blank=True, editable=False)
    trouble = models.TextField(blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = AccountQuerySet.as_manager()

    class Meta:
        # Delivery has the table and admin, and loads this module.
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
    """Account of any channel but mail, for its own admin pages."""

    objects = ServiceAccountManager()  # type: ignore[assignment, misc]

    class Meta:
        app_label = "delivery"
        proxy = True
        verbose_name = "account of a service"
        verbose_name_plural = "accounts of services"
