"""Tests: of a mail account, at once and with time limits, and mails through the ledger."""

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from channels.account import EMAIL
from channels.base import Outcome, Sent, Temporary
from channels.email.channel import EmailChannel
from channels.email.esp.session import EspSession
from channels.email.esp.settings import EspSettings
from channels.email.mail_message import MailMessage
from channels.email.session import IMPATIENT
from channels.email.smtp_connection import helo_name
from channels.email.smtp_login import SmtpSettings
from channels.email.smtp_replies import CannotConnect
from channels.email.smtp_session import SmtpSession
from channels.letter import Recipient
from channels.rules.trials import trouble_of_cause, trouble_of_refusal
from common.db.leases import RELEASED
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.text import one_line, shortened
from common.transactions import forbid_open_transaction
from delivery.accounts.accounts import record_trial, target_of, usual_sender
from delivery.accounts.dkim_keys import SigningKeys
from delivery.accounts.providers import provider_of
from delivery.issues.broadcasts import LetterText
from delivery.lanes.lanes import mail_to
from delivery.letters.build import mail_letter
from delivery.models import Account, Delivery
from delivery.rendering.facts import TemplateSource
from subscriptions.models import Destination, Subscribable, Suppression

log = logging.getLogger(__name__)

# All steps together. A page waits for it.
TRIAL_MAIL_SECONDS = 20.0
# The resolver has no time limit of ours.
GIVEN_UP_AFTER = TRIAL_MAIL_SECONDS + 5
# Then a worker takes the mail over, should this process die.
TRIAL_MAIL_LEASE = timedelta(minutes=5)
LONGEST_TROUBLE = 1000
NO_ANSWER_IN_TIME = (
    "It took longer than {:.0f} seconds. Check host, port and security; if they are right, try again later."
)
NEVER_WRITTEN_TO = "{} is not to be written to: give another address, or take that one off the list."


def try_account(*, account: Account, to: str, now: datetime) -> str:
    """Send a test mail through the account (network) and record the result.

    Returns the problem and its remedy, or "". A sent mail stays in the ledger. Raises InvalidDestination for
    an unusable address.
    """
    forbid_open_transaction()
    try:
        target = target_of(account)
        mail, message = _test_mail(account, to, now)
    except (ImproperlyConfigured, ValueError) as error:
        if isinstance(error, InvalidDestination):
            raise
        record_trial(account=account, trouble=str(error), now=now)
        return str(error)
    assert isinstance(target, SmtpSettings | EspSettings)  # noqa: S101 - no account is a mailbox
    sender = usual_sender(account.name)
    if isinstance(target, EspSettings):
        outcome = _within_bounds(lambda: _through_service(target, message, now))
    else:
        outcome = _within_bounds(lambda: asyncio.run(_through_server(target, sender, message, now)))
    ours = Delivery.objects.filter(pk=mail.pk, lease_token=mail.lease_token, state=Delivery.State.SENDING)
    if isinstance(outcome, Sent):
        ours.update(
            state=Delivery.State.SENT, sent_at=now, remote_id=outcome.remote_id, attempts=1, **RELEASED
        )
        trouble = ""
    else:
        # Nobody waits for it.
        ours.delete()
        trouble = shortened(one_line(_without_secrets(outcome.text, target)), LONGEST_TROUBLE)
    record_trial(account=account, trouble=trouble, now=now)
    return trouble


@transaction.atomic
def _test_mail(account: Account, to: str, now: datetime) -> tuple[Delivery, MailMessage]:
    """Return the message and its row, claimed as by a worker. Raises ValueError."""
    parsed = channels.get(EMAIL).parse_destination({"email": to})
    if Suppression.objects.filter(kind=EMAIL, core=parsed.core).exists():
        raise InvalidDestination(NEVER_WRITTEN_TO.format(parsed.label), field="to")
    mail = mail_to(
        Destination.at(parsed, now=now),
        kind=Delivery.Kind.TEST,
        key=uuid.uuid4().hex,
        template="test",
        context={},
        now=now,
        options={"account": account.name},
        state=Delivery.State.SENDING,
        lease_token=uuid.uuid4(),
        lease_until=now + TRIAL_MAIL_LEASE,
    )
    letter = mail_letter(mail, now=now)
    letter = replace(letter, signing_keys=SigningKeys().of(letter.from_email))
    mail.save(force_insert=True)
    recipient = Recipient(mail.pk, parsed.core, parsed.label, config=parsed.config)
    return mail, EmailChannel().compose(letter, recipient)


async def _through_server(target: SmtpSettings, sender: str, message: MailMessage, now: datetime) -> Outcome:
    session = SmtpSession(target, helo=helo_name(), timeouts=IMPATIENT)
    try:
        async with asyncio.timeout(TRIAL_MAIL_SECONDS):
            await session.ready()
            outcome = await session.send(message, now=now)
    except CannotConnect as error:
        hint = provider_of(target.host)
        proof = hint.proof if hint else ""
        return Temporary(trouble_of_cause(error.cause, target.host, target.port, error.words, proof=proof))
    except TimeoutError:
        return Temporary(NO_ANSWER_IN_TIME.format(TRIAL_MAIL_SECONDS))
    finally:
        await session.close()
    if isinstance(outcome, Sent):
        return outcome
    return Temporary(trouble_of_refusal(getattr(outcome, "meaning", None), target.host, sender, outcome.text))


def _through_service(target: EspSettings, message: MailMessage, now: datetime) -> Outcome:
    with closing(EspSession(target, form=EmailChannel().form, seconds=TRIAL_MAIL_SECONDS)) as session:
        return session.send(message, key="", begun_at=None, now=now)


def _within_bounds(attempt: Callable[[], Outcome]) -> Outcome:
    """Return the outcome, or a timeout, on which the page continues."""
    outcomes: list[Outcome] = []

    def run() -> None:
        try:
            outcomes.append(attempt())
        except Exception as error:  # a bug must not look like a silent server
            log.exception("trying a mail account failed")
            outcomes.append(Temporary(f"It failed in an unforeseen way ({type(error).__name__})."))

    thread = threading.Thread(target=run, name="mail trial", daemon=True)
    thread.start()
    thread.join(GIVEN_UP_AFTER)
    return outcomes[0] if outcomes else Temporary(NO_ANSWER_IN_TIME.format(GIVEN_UP_AFTER))


def _without_secrets(text: str, target: SmtpSettings | EspSettings) -> str:
    if isinstance(target, EspSettings):
        return target.without_secrets(text)
    return text.replace(target.password, "…") if target.password else text


def send_test_email(*, to: str, now: datetime, account: str = "") -> Delivery:
    """Queue a short test through a mail account, or EMAIL_URL without one.

    Raises InvalidDestination for an invalid address or unknown account.
    """
    options = channels.get("email").parse_options({"account": account})
    return _queue(to=to, template="test", context={}, options=options, now=now)


def send_test_issue(*, subscribable: Subscribable, to: str, now: datetime, **of: int) -> Delivery:
    """Queue the newsletter as it would look now, or its `issue` or `collection` of this key.

    Raises InvalidDestination.
    """
    return _queue_sample(subscribable, of, to=to, now=now)


def send_test_letter(
    *, subscribable: Subscribable, name: str, source: TemplateSource | None = None, to: str, now: datetime
) -> Delivery:
    """Queue a mail such as mails/welcome, with `source` as template if given. Raises InvalidDestination."""
    own = {"source": asdict(source)} if source is not None else {}
    return _queue_sample(subscribable, {"template": name, **own}, to=to, now=now)


def send_test_written(*, subscribable: Subscribable, text: LetterText, to: str, now: datetime) -> Delivery:
    """Queue a broadcast as it is. Raises InvalidDestination."""
    return _queue_sample(subscribable, {"written": asdict(text)}, to=to, now=now)


def _queue_sample(subscribable: Subscribable, context: dict[str, Any], *, to: str, now: datetime) -> Delivery:
    context = {"subscribable": subscribable.pk, **context}
    return _queue(to=to, template="", context=context, options=subscribable.options, now=now)


@transaction.atomic
def _queue(
    *, to: str, template: str, context: dict[str, Any], options: Mapping[str, str], now: datetime
) -> Delivery:
    parsed = channels.get("email").parse_destination({"email": to})
    mail = mail_to(
        Destination.at(parsed, now=now),
        kind=Delivery.Kind.TEST,
        key=uuid.uuid4().hex,
        template=template,
        context=context,
        now=now,
        options=options,
    )
    mail.save(force_insert=True)
    return mail
