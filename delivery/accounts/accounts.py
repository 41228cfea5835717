"""Mail accounts besides EMAIL_URL's: which there are, where they lead, and what uses them."""

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import IntegrityError, transaction

from common.secrets import opened
from common.text import counted
from common.transactions import forbid_open_transaction
from delivery.channels.email.account_url import Mailbox, parse_email_url, transport_of
from delivery.channels.email.esp.settings import EspSettings
from delivery.channels.email.session import CannotLogIn, probe_login
from delivery.channels.email.smtp_settings import IMPLICIT, PLAIN, STARTTLS, SmtpSettings
from delivery.lanes.lanes import mail_lane
from delivery.lanes.settings import NOTHING_LEARNT
from delivery.models import Account, Delivery, Lane
from delivery.models.delivery import NOT_FINISHED
from delivery.rules.accounts import DEFAULT_ACCOUNT
from subscriptions.models import Subscribable

EMAIL = "email"
SECURITY = {PLAIN: "not encrypted", STARTTLS: "encrypted by STARTTLS", IMPLICIT: "encrypted"}


def add_account(*, name: str, url: str) -> Account:
    """A new account. Raises ValidationError, naming the field, never with the URL in it."""
    account = Account(name=name.strip())
    _set_url(account, url)
    account.full_clean(exclude=["secrets"], validate_unique=False)
    try:
        with transaction.atomic():
            account.save(force_insert=True)
            mail_lane(account.name)  # its limits can be set before anything is sent
    except IntegrityError as error:
        raise ValidationError({"name": "There is a mail account of this name already."}) from error
    return account


def alter_account(*, account: Account, url: str) -> Account:
    """Sets another server or password. A lane that rests because of the old one goes on.

    Raises ValidationError.
    """
    _set_url(account, url)
    with transaction.atomic():
        account.save(update_fields=["secrets"])
        rested = Lane.objects.filter(kind=EMAIL, account=account.name)
        rested.update(free_at=None, failures=0, last_error="", refused_since=None, **NOTHING_LEARNT)
    return account


def drop_account(*, account: Account) -> None:
    """Deletes it. Raises ValidationError while newsletters choose it or letters wait to go out through it."""
    with transaction.atomic():
        Account.objects.select_for_update().filter(pk=account.pk).first()
        if reason := why_needed(account):
            raise ValidationError(reason)
        Account.objects.filter(pk=account.pk).delete()
        # Its lane stays as long as deliveries tell of it.
        Lane.objects.filter(kind=EMAIL, account=account.name, deliveries=None).delete()


def why_needed(account: Account) -> str:
    """Why the account cannot be deleted: what uses it, and what to do. Empty if it can."""
    if users := [str(row) for row in newsletters_of(account)]:
        return f"{account} is used by {', '.join(users)}: choose another mail account there first."
    waiting = Delivery.objects.filter(lane__kind=EMAIL, lane__account=account.name, state__in=NOT_FINISHED)
    if count := waiting.count():
        what = counted(count, "delivery is", "deliveries are")
        return f"{what} still to go out through {account}: wait for that, or cancel the issues."
    return ""


def newsletters_of(account: Account) -> list[Subscribable]:
    """The newsletters that choose it."""
    return list(Subscribable.objects.filter(channel=EMAIL, options__account=account.name).order_by("name"))


def url_of(lane: Lane) -> str:
    """The URL of a lane's mail account, with the password, as LaneFacts carry it.

    Empty for EMAIL_URL's lane and those of other channels; also when there is no such account any more, or
    SECRET_KEY has changed.
    """
    if lane.kind != EMAIL or lane.account == DEFAULT_ACCOUNT:
        return ""
    account = Account.objects.filter(name=lane.account).first()
    return secret_url(account) if account else ""


def secret_url(account: Account) -> str:
    """The account's URL, with the password. Empty when SECRET_KEY has changed."""
    try:
        return opened(account.secrets).get("url", "")
    except ValueError:
        return ""


def server_of(account: Account) -> str:
    """Where the account leads, for people to read: without user and password."""
    try:
        target = target_of(account)
    except ImproperlyConfigured:
        return "Its URL cannot be read: set it anew."
    if isinstance(target, SmtpSettings):
        return f"{target.name}, {SECURITY[target.security]}"
    return "mailbox" if isinstance(target, Mailbox) else target.name


def account_words(subscribable: Subscribable) -> str:
    """Through what a newsletter's letters go out, for people to read: without user and password."""
    name = subscribable.options.get("account") or DEFAULT_ACCOUNT
    if name != DEFAULT_ACCOUNT:
        account = Account.objects.filter(name=name).first()
        return f"{name}: {server_of(account)}" if account else f"{name}, which is there no more"
    try:
        target = transport_of()
    except ImproperlyConfigured as error:
        return str(error)
    if isinstance(target, Mailbox):
        return "the mailbox of this program: letters are kept there, not sent, until EMAIL_URL is set"
    return f"EMAIL_URL: {target.name}"


def target_of(account: Account) -> SmtpSettings | EspSettings | Mailbox:
    """What the account's URL says. Raises ImproperlyConfigured."""
    return transport_of(account.name, url_of(Lane(kind=EMAIL, account=account.name)))


def try_login(account: Account) -> str:
    """Connects and logs in (network). Returns what the server said. Raises CannotLogIn."""
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
        # `from None`: nothing that may show the URL.
        raise ValidationError({"url": str(error)}) from None
    if isinstance(target, Mailbox):
        raise ValidationError({"url": "mailbox: is no server; give smtps://user:password@host or the like."})
    account.secrets = {"url": url.strip()}
