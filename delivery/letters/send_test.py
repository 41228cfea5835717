"""Test mails, sent through the ledger."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction

from common.ports import channels
from delivery.issues.broadcasts import LetterText
from delivery.lanes.lanes import mail_to
from delivery.models import Delivery, Issue
from delivery.rendering.facts import TemplateSource
from subscriptions.models import Assignable, Destination, Subscribable


def send_test_email(*, to: str, now: datetime, account: str = "") -> Delivery:
    """Queue a short test through a mail account, or EMAIL_URL without one.

    Raises InvalidDestination for an invalid address or unknown account.
    """
    options = channels.get("email").parse_options({"account": account})
    return _queue(to=to, template="test", context={}, options=options, now=now)


def send_test_issue(*, subscribable: Subscribable, to: str, now: datetime) -> Delivery:
    """Queue the newsletter as it would look now. Raises InvalidDestination."""
    context = {"subscribable": subscribable.pk}
    return _queue(to=to, template="", context=context, options=subscribable.options, now=now)


def send_test_of_issue(*, issue: Issue, to: str, now: datetime) -> Delivery:
    """Queue an issue, even one awaiting approval. Raises InvalidDestination."""
    context = {"subscribable": issue.subscribable_id, "issue": issue.pk}
    return _queue(to=to, template="", context=context, options=issue.subscribable.options, now=now)


def send_test_of_collection(*, assignable: Assignable, to: str, now: datetime) -> Delivery:
    """Queue the collection as it is. Raises InvalidDestination."""
    newsletter = assignable.subscribable
    context = {"subscribable": newsletter.pk, "collection": assignable.pk}
    return _queue(to=to, template="", context=context, options=newsletter.options, now=now)


def send_test_letter(
    *, subscribable: Subscribable, name: str, source: TemplateSource | None = None, to: str, now: datetime
) -> Delivery:
    """Queue a mail such as mails/welcome, with `source` as template if given. Raises InvalidDestination."""
    context: dict[str, Any] = {"subscribable": subscribable.pk, "template": name}
    if source is not None:
        context["source"] = asdict(source)
    return _queue(to=to, template="", context=context, options=subscribable.options, now=now)


def send_test_written(*, subscribable: Subscribable, text: LetterText, to: str, now: datetime) -> Delivery:
    """Queue a broadcast as it is. Raises InvalidDestination."""
    context = {"subscribable": subscribable.pk, "written": asdict(text)}
    return _queue(to=to, template="", context=context, options=subscribable.options, now=now)


@transaction.atomic
def _queue(
    *, to: str, template: str, context: dict[str, Any], options: Mapping[str, str], now: datetime
) -> Delivery:
    parsed = channels.get("email").parse_destination({"email": to})
    destination, _ = Destination.objects.get_or_create(
        kind="email",
        core=parsed.core,
        defaults={"label": parsed.label, "config": parsed.config, "added_at": now},
    )
    mail = mail_to(
        destination,
        kind=Delivery.Kind.TEST,
        key=uuid.uuid4().hex,
        template=template,
        context=context,
        now=now,
        options=options,
    )
    mail.save(force_insert=True)
    return mail
