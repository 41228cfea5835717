"""Outgoing mail accounts besides EMAIL_URL's."""

from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from common.secrets import SecretsField


class Account(models.Model):
    """Another SMTP server or mail service that newsletters may be sent through. Its name is its lane's."""

    name = models.CharField(
        max_length=64,
        unique=True,
        validators=[RegexValidator(r"\A(?!default\Z)[a-z0-9-]{1,64}\Z", "Use a–z, 0–9 and dashes.")],
        help_text="Such as second-server. Newsletters are sent through it by this name.",
    )
    # {"url": as EMAIL_URL}: it holds a password.
    secrets = SecretsField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("name",)
        verbose_name = "mail account"

    def __str__(self) -> str:
        return self.name
