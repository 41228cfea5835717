"""What Django's system check says about mail. Registered in DeliveryConfig.ready()."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import ImproperlyConfigured

from common.ports.channels import InvalidDestination
from delivery.bounces.account import MailAccount, parse_bounce_url
from delivery.channels.email.account_url import Mailbox, parse_email_url
from delivery.channels.email.address import parse_address, parse_sender
from delivery.channels.email.esp.settings import EspSettings
from delivery.channels.email.smtp_settings import PLAIN, SmtpSettings

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def check_email(app_configs: Any, **options: Any) -> list[CheckMessage]:
    """E001: EMAIL_URL is wrong. E002: DEFAULT_FROM_EMAIL is. E003: BOUNCE_URL is.

    W001–W004: what will not work as hoped.
    """
    return [*_sender(), *_url(), *_bounces()]


def _bounces() -> list[CheckMessage]:
    try:
        where = parse_bounce_url(settings.BOUNCE_URL)
    except ImproperlyConfigured as error:
        return [Error(str(error), id="delivery.E003")]
    if not isinstance(where, MailAccount) or not where.is_open:
        return []
    text = f"BOUNCE_URL sends its password to {where.host} unencrypted: use imaps:// or pop3s://."
    return [Warning(text, id="delivery.W004")]


def _url() -> list[CheckMessage]:
    if not settings.EMAIL_URL:
        return [Warning("EMAIL_URL is empty: letters will wait until it is set.", id="delivery.W001")]
    try:
        target = parse_email_url(settings.EMAIL_URL)
    except ImproperlyConfigured as error:
        return [Error(str(error), id="delivery.E001")]
    if isinstance(target, Mailbox):
        return []
    if isinstance(target, EspSettings):
        return _unreal_sender(target)
    return [*_open_password(target), *_unreal_sender(target)]


def _open_password(target: SmtpSettings) -> list[CheckMessage]:
    if target.security != PLAIN or not target.user or target.host in _LOOPBACK:
        return []
    text = f"EMAIL_URL sends its password to {target.name} unencrypted: use smtps:// or smtp+starttls://."
    return [Warning(text, id="delivery.W002")]


def _sender() -> list[CheckMessage]:
    try:
        parse_sender(settings.DEFAULT_FROM_EMAIL)
    except InvalidDestination as error:
        text = f"DEFAULT_FROM_EMAIL is wrong: {error} Expected Name <letters@example.org>."
        return [Error(text, id="delivery.E002")]
    return []


def _unreal_sender(target: SmtpSettings | EspSettings) -> list[CheckMessage]:
    try:
        parse_address(settings.DEFAULT_FROM_EMAIL)
    except InvalidDestination:
        if isinstance(target, SmtpSettings) and target.host in _LOOPBACK:
            return []
        text = "DEFAULT_FROM_EMAIL has no domain of yours: mail servers will refuse letters from it."
        return [Warning(text, hint="Set it to Name <letters@example.org>.", id="delivery.W003")]
    return []
