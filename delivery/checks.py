"""Django system checks about mail, registered by DeliveryConfig.ready()."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import ImproperlyConfigured

from channels.email.account_url import Mailbox, parse_email_url
from channels.email.address import parse_address, parse_sender
from channels.email.smtp_login import PLAIN, SmtpSettings
from common.ports.channels import InvalidDestination
from delivery.bounces.account import MailAccount, parse_bounce_url

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def check_email(app_configs: Any, **options: Any) -> list[CheckMessage]:
    """Check the settings. E001: EMAIL_URL, E002: DEFAULT_FROM_EMAIL, E003: BOUNCE_URL.

    W001–W004: what will not work as hoped.
    """
    found: list[CheckMessage] = []
    try:
        parse_sender(settings.DEFAULT_FROM_EMAIL)
    except InvalidDestination as error:
        text = f"DEFAULT_FROM_EMAIL is wrong: {error} Expected Name <letters@example.org>."
        found.append(Error(text, id="delivery.E002"))
    found += _check_email_url()
    try:
        where = parse_bounce_url(settings.BOUNCE_URL)
    except ImproperlyConfigured as error:
        found.append(Error(str(error), id="delivery.E003"))
    else:
        if isinstance(where, MailAccount) and where.is_open:
            text = f"BOUNCE_URL sends its password to {where.host} unencrypted. Use imaps:// or pop3s://."
            found.append(Warning(text, id="delivery.W004"))
    return found


def _check_email_url() -> list[CheckMessage]:
    if not settings.EMAIL_URL:
        return [
            Warning(
                "EMAIL_URL is empty. Emails wait until it is set, or email is set up in the admin.",
                hint="EMAIL_URL=smtp+starttls://user:password@mail.example.org:587, or mailbox: to keep them",
                id="delivery.W001",
            )
        ]
    try:
        target = parse_email_url(settings.EMAIL_URL)
    except ImproperlyConfigured as error:
        return [Error(str(error), id="delivery.E001")]
    if isinstance(target, Mailbox):
        return []
    found: list[CheckMessage] = []
    is_near = isinstance(target, SmtpSettings) and target.host in _LOOPBACK
    if isinstance(target, SmtpSettings) and target.security == PLAIN and target.user and not is_near:
        text = f"EMAIL_URL sends its password to {target.name} unencrypted. Use smtps:// or smtp+starttls://."
        found.append(Warning(text, id="delivery.W002"))
    try:
        parse_address(settings.DEFAULT_FROM_EMAIL)
    except InvalidDestination:
        if not is_near:
            text = (
                "DEFAULT_FROM_EMAIL isn’t an address at your domain. Mail servers will refuse emails from it."
            )
            hint = "Set it to Name <news@example.org>."
            found.append(Warning(text, hint=hint, id="delivery.W003"))
    return found
