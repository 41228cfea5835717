"""Accounts: mail servers, the default, and accounts that many destinations share, such as bots."""

import functools
import logging
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain, count

from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from channels.account import EMAIL
from channels.base import LaneFacts
from channels.bridge import Bridge
from channels.email.account_url import UNREADABLE, Mailbox, parse_email_url, transport_of
from channels.email.address import MAX_NAME, clean_name, parse_sender
from channels.email.esp.settings import EspSettings
from channels.email.session import CannotLogIn, probe_login
from channels.email.smtp_login import IMPLICIT, PLAIN, STARTTLS, SmtpSettings
from channels.rules.accounts import DEFAULT_ACCOUNT
from common.ports import channels
from common.ports.channels import AccountSpec, ChannelSpec, HasAccounts, InvalidDestination, read_fields
from common.secrets import Sealed, opened
from common.text import pluralize, shortened
from common.transactions import forbid_open_transaction
from delivery.lanes.lanes import is_of_destination, mail_lane
from delivery.lanes.limits import NOTHING_LEARNT
from delivery.models import Account, Delivery, Lane, ServiceAccount
from delivery.models.delivery import NOT_FINISHED
from subscriptions.models import Destination, Subscribable

SECURITY = {PLAIN: "not encrypted", STARTTLS: "encrypted by STARTTLS", IMPLICIT: "encrypted"}
log = logging.getLogger(__name__)

REMEMBERED_SECONDS = 7 * 24 * 3600
_NO_NAME = re.compile(r'[<>@"\\]')


def add_account(*, name: str, url: str, sender: str = "") -> Account:
    """Create an account. Raises ValidationError with the field, never with the URL."""
    account = Account(name=name.strip(), sender=checked_sender(sender))
    _set_url(account, url)
    account.full_clean(exclude=["secrets"], validate_unique=False)
    try:
        with transaction.atomic():
            account.save(force_insert=True)
            mail_lane(account.name)  # so that limits can be set at once
    except IntegrityError as error:
        raise ValidationError({"name": "An email account with this name already exists."}) from error
    return account


def alter_account(*, account: Account, url: str, sender: str | None = None) -> Account:
    """Change server or password, forget the last test, and wake its lanes. Raises ValidationError."""
    _set_url(account, url)
    if sender is not None:
        account.sender = checked_sender(sender)
    account.tried_at, account.trouble = None, ""
    with transaction.atomic():
        account.save(update_fields=["secrets", "sender", "tried_at", "trouble"])
        is_default = Account.objects.filter(pk=account.pk, is_default=True).exists()
        _wake_lanes(account.name, *([DEFAULT_ACCOUNT] if is_default else ()))
    return account


def make_default(*, account: Account) -> Account:
    """Use it for everything without an account, also waiting mail. Raises ValidationError."""
    with transaction.atomic():
        # One order, so that one of two calls waits.
        rows = {row.pk: row for row in Account.objects.mail().select_for_update().order_by("pk")}
        if account.pk not in rows:
            raise ValidationError("This email account no longer exists.")
        Account.objects.filter(is_default=True).exclude(pk=account.pk).update(is_default=False)
        Account.objects.filter(pk=account.pk).update(is_default=True)
        mail_lane()
        _wake_lanes(DEFAULT_ACCOUNT)
    account.refresh_from_db()
    return account


def stop_default() -> None:
    """Store mail without an account here again, or let it wait."""
    Account.objects.filter(is_default=True).update(is_default=False)


def record_trial(*, account: Account, trouble: str, now: datetime) -> None:
    """Record a test's error, or ""."""
    account.tried_at, account.trouble = now, trouble
    account.save(update_fields=["tried_at", "trouble"])


def checked_sender(text: str) -> str:
    """Return name and address, or "". Raises ValidationError."""
    text = text.strip()
    try:
        if text:
            parse_sender(text)
    except InvalidDestination as error:
        raise ValidationError({"sender": f"{error} Expected Name <letters@example.org>."}) from None
    return text


def _wake_lanes(*names: str) -> None:
    """Resume lanes that rest because of another server or password."""
    rested = Lane.objects.filter(kind=EMAIL, account__in=names)
    rested.update(free_at=None, failures=0, last_error="", refused_since=None, **NOTHING_LEARNT)


def drop_account(*, account: Account) -> None:
    """Delete an account. Raises ValidationError if newsletters or waiting letters use it."""
    with transaction.atomic():
        Account.objects.select_for_update().filter(pk=account.pk).first()
        if reason := why_needed(account):
            raise ValidationError(reason)
        Account.objects.filter(pk=account.pk).delete()
        # Deliveries may refer to the lane.
        Lane.objects.filter(kind=EMAIL, account=account.name, deliveries=None).delete()


def why_needed(account: Account) -> str:
    """Explain why it cannot be deleted, else ""."""
    if users := [str(row) for row in newsletters_of(account)]:
        return f"{account} is used by {', '.join(users)}. Choose another email account there first."
    if Account.objects.filter(pk=account.pk, is_default=True).exists():
        return (
            f"{account} is the default account. Make another account the default first, or keep "
            "emails here instead."
        )
    waiting = Delivery.objects.filter(lane__kind=EMAIL, lane__account=account.name, state__in=NOT_FINISHED)
    if count := waiting.count():
        what = pluralize(count, "delivery is", "deliveries are")
        return f"{what} waiting to be sent through {account}. Wait for them, or cancel the issues."
    return ""


def newsletters_of(account: Account) -> list[Subscribable]:
    return list(Subscribable.objects.filter(channel=EMAIL, options__account=account.name).order_by("name"))


def url_of(lane: Lane) -> str:
    """Return the lane's account URL, with the password.

    "" for other channels, deleted accounts, after a change of SECRET_KEY, and for the default lane if
    EMAIL_URL applies.
    """
    if lane.kind != EMAIL:
        return ""
    if lane.account == DEFAULT_ACCOUNT:
        return default_url()
    account = Account.objects.mail().filter(name=lane.account).first()
    return secret_url(account) if account else ""


def server_of(account: Account) -> str:
    """Describe the server, without user and password."""
    try:
        target = target_of(account)
    except ImproperlyConfigured:
        return "Its URL can’t be read. Enter it again."
    return way_in_words(target)


def way_in_words(target: SmtpSettings | EspSettings | Mailbox) -> str:
    """Describe the target, without user and password."""
    if isinstance(target, SmtpSettings):
        return f"{target.name}, {SECURITY[target.security]}"
    return "mailbox" if isinstance(target, Mailbox) else target.name


def account_words(subscribable: Subscribable) -> str:
    """Describe a newsletter's account, without user and password."""
    name = subscribable.options.get("account") or DEFAULT_ACCOUNT
    if name != DEFAULT_ACCOUNT:
        account = Account.objects.mail().filter(name=name).first()
        return f"{name}: {server_of(account)}" if account else f"{name}, which no longer exists"
    try:
        target = transport_of()
    except ImproperlyConfigured as error:
        return str(error)
    if isinstance(target, Mailbox):
        return "this program’s mailbox. Emails stay there until you choose a server in Email set-up"
    return f"EMAIL_URL: {target.name}"


def target_of(account: Account) -> SmtpSettings | EspSettings | Mailbox:
    """Parse the account's URL. Raises ImproperlyConfigured."""
    return transport_of(account.name, url_of(Lane(kind=EMAIL, account=account.name)))


def try_login(account: Account) -> str:
    """Log in (network) and return the server's answer. Raises CannotLogIn."""
    forbid_open_transaction()
    try:
        target = target_of(account)
    except ImproperlyConfigured as error:
        raise CannotLogIn(str(error)) from None
    return probe_login(target)


def _set_url(account: Account, url: str) -> None:
    try:
        target = parse_email_url(url.strip(), name="The URL")
    except ImproperlyConfigured as error:
        # `from None`: the cause may show the URL.
        raise ValidationError({"url": str(error)}) from None
    if isinstance(target, Mailbox):
        raise ValidationError({"url": "mailbox: isn’t a server. Use a URL like smtps://user:password@host."})
    account.secrets = {"url": url.strip()}


def facts_of(lane: Lane) -> LaneFacts:
    """Return the lane with credentials and state, {} if unreadable."""
    credentials: Mapping[str, str] = {}
    if lane.kind == EMAIL:
        credentials = {"url": url_of(lane)}
    elif shared := channels.get(lane.kind).borrows:
        there = Destination.objects.filter(kind=shared, core=lane.account).first()
        credentials = {**there.config, **_read(there.secrets)} if there else {}
    elif lane.parent is not None or not is_of_destination(lane):
        # A lane is its account's, or a part of it.
        name = (lane.parent or lane).account
        account = Account.objects.filter(kind=lane.kind, name=name).first()
        credentials = _read(account.secrets) if account else {}
    return LaneFacts(
        lane.kind, lane.account, credentials, lane.messages_per_connection, state=_read(lane.state)
    )


def _read(secrets: Sealed | dict[str, str]) -> dict[str, str]:
    try:
        return opened(secrets)
    except ValueError:
        return {}


def default_account() -> Account | None:
    """Return None while EMAIL_URL is set."""
    if "EMAIL_URL" in settings.GIVEN:
        return None
    return Account.objects.mail().filter(is_default=True).first()


def default_url() -> str:
    """Return the default account's URL, with the password; "" if settings.EMAIL_URL applies.

    UNREADABLE after a change of SECRET_KEY: letters wait then and are not stored here.
    """
    account = default_account()
    return (secret_url(account) or UNREADABLE) if account else ""


def secret_url(account: Account) -> str:
    """Return the URL with the password; "" after a change of SECRET_KEY."""
    try:
        return opened(account.secrets).get("url", "")
    except ValueError:
        return ""


def keeps_letters() -> bool:
    """Return whether mail without an account is stored, not sent."""
    return settings.EMAIL_URL.startswith("mailbox:") and default_account() is None


def sends_nothing() -> bool:
    """Return whether neither server nor mailbox is set up."""
    return not settings.EMAIL_URL and default_account() is None


def usual_sender(account: str = "") -> str:
    """Return the account's sender ("": the default's) for newsletters without one."""
    if account and account != DEFAULT_ACCOUNT:
        row = Account.objects.mail().filter(name=account).first()
    else:
        row = None if "DEFAULT_FROM_EMAIL" in settings.GIVEN else default_account()
    return (row.sender if row else "") or settings.DEFAULT_FROM_EMAIL


def sender_of(subscribable: Subscribable) -> str:
    return senders_of([subscribable])[subscribable.pk]


def senders_of(newsletters: Iterable[Subscribable]) -> dict[int, str]:
    """Return the newsletters' senders, or their accounts' with the newsletters' titles as names.

    "" for other channels than email, where the account signs.
    """
    usual = functools.cache(usual_sender)
    senders = {}
    for row in newsletters:
        sender = row.from_email
        if row.channel == "email" and not sender:
            sender = named_sender(usual(row.options.get("account", "")), str(row))
        senders[row.pk] = sender if row.channel == "email" else ""
    return senders


def named_sender(sender: str, title: str) -> str:
    """Return the sender's address with this name, without what a name can't have (RFC 5322 §3.4)."""
    name = shortened(clean_name(_NO_NAME.sub(" ", title)), MAX_NAME)
    return f"{name} <{parse_sender(sender).label}>"


def note_refused_call(*, esp: str, reason: str, now: datetime) -> None:
    log.warning("a webhook call of a mail service was refused: %s", reason, extra={"esp": esp})
    cache.set(_key(esp), (now, reason), REMEMBERED_SECONDS)


def last_refused_call(esp: str) -> tuple[datetime, str] | None:
    """Return time and reason of the service's last refused call within a week."""
    known: tuple[datetime, str] | None = cache.get(_key(esp))
    return known


def _key(esp: str) -> str:
    return f"refused-webhook:{esp}"


def account_specs() -> list[AccountSpec]:
    """Return specs of accounts for destinations, and of OAuth applications."""
    kinds = channels.all_kinds()
    shared: list[AccountSpec] = [
        kind for kind in kinds if isinstance(kind, HasAccounts) and kind.account_fields
    ]
    ways = (kind.connection for kind in kinds if isinstance(kind, Bridge))
    return [*shared, *(way for way in ways if way is not None)]


def kinds_with_accounts() -> list[AccountSpec]:
    return [kind for kind in account_specs() if kind.account_fields]


def lacks_account(kind: ChannelSpec) -> bool:
    """Return whether an account has to be added first."""
    needs_one = isinstance(kind, HasAccounts) and bool(kind.account_fields)
    return needs_one and not ServiceAccount.objects.filter(kind=kind.key).exists()


def kind_of_account(key: str) -> AccountSpec:
    """Return the spec of accounts that admins add. Raises InvalidDestination."""
    for kind in account_specs():
        if kind.key == key and not kind.account_fields:
            raise InvalidDestination(
                "Feedletter registered this application. If you delete it, the next bridge "
                "registers a new one."
            )
        if kind.key == key:
            return kind
    raise InvalidDestination("kind: choose a service that uses accounts.")


def add_service_account(*, kind: str, name: str, values: Mapping[str, str], now: datetime) -> ServiceAccount:
    """Create an account. Raises ValidationError, InvalidDestination.

    Asks the service (network).
    """
    secrets, known_as = _checked(kind, values)
    made = ServiceAccount(kind=kind, name=name.strip(), label=known_as, tried_at=now)
    made.secrets = secrets
    made.full_clean(exclude=["secrets"], validate_unique=False)
    try:
        with transaction.atomic():
            made.save(force_insert=True)
    except IntegrityError as error:
        raise ValidationError({"name": "An account with this name already exists."}) from error
    return made


def free_account_name(wanted: str) -> str:
    """Return the name, numbered if it is used."""
    taken = set(Account.objects.filter(name__startswith=wanted).values_list("name", flat=True))
    names = chain((wanted,), (f"{wanted}-{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def alter_service_account(
    *, account: ServiceAccount, values: Mapping[str, str], now: datetime
) -> ServiceAccount:
    """Change secrets if the service accepts them (network), and wake lanes. Empty values stay.

    Raises InvalidDestination.
    """
    given = {**stored_values(account), **{name: value for name, value in values.items() if value}}
    account.secrets, account.label = _checked(account.kind, given)
    account.tried_at, account.trouble = now, ""
    with transaction.atomic():
        account.save(update_fields=["secrets", "label", "tried_at", "trouble"])
        theirs = Q(account=account.name) | Q(parent__account=account.name)
        lanes = Lane.objects.filter(theirs, kind=account.kind)
        lanes.update(free_at=None, failures=0, last_error="", refused_since=None)
    return account


def drop_service_account(*, account: ServiceAccount) -> None:
    """Delete the account. Raises ValidationError while it is in use."""
    if reason := why_account_needed(account):
        raise ValidationError(reason)
    account.delete()


def why_account_needed(account: ServiceAccount) -> str:
    """Explain why it cannot be deleted, else ""."""
    if users := destinations_of_account(account).count():
        return f"{pluralize(users, 'bridge posts', 'bridges post')} with {account}: delete those first."
    if newsletters := newsletters_of_account(account).count():
        count = pluralize(newsletters, "newsletter is", "newsletters are")
        return f"{count} sent with {account}. Give them another account first."
    if Subscribable.objects.filter(companions__contains=account.kind).exists():
        return f"Newsletters are sent with {account}, too."
    return ""


def destinations_of_account(account: ServiceAccount) -> "QuerySet[Destination]":
    """Return its destinations: their cores begin with its name (see Bridge)."""
    rows = Destination.objects.filter(kind=account.kind, core__startswith=f"{account.name}/")
    return rows.filter(subscriptions__ended_at=None, subscriptions__isnull=False).distinct()


def newsletters_of_account(account: ServiceAccount) -> "QuerySet[Subscribable]":
    """Return newsletters with its name in their options."""
    return Subscribable.objects.filter(channel=account.kind, options__account=account.name)


def stored_values(account: ServiceAccount) -> dict[str, str]:
    """Return {} if unreadable."""
    try:
        return opened(account.secrets)
    except ValueError:
        return {}


def _checked(kind: str, values: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return cleaned fields, and the account's label by the service."""
    described = kind_of_account(kind)
    read = read_fields(described.account_fields, values, owner=described.label)
    return {name: value for name, value in read.items() if value}, described.check_account(read)[:320]
