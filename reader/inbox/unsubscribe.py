"""Unsubscribing by what a message offers, when its reader asks for it (network)."""

from datetime import datetime

from django.db import transaction

from common.net.client import FetchError, client
from common.ports.hooks import site_mail
from common.refused import Refused
from reader.models import MailSource
from reader.rules.mail_posts import Leaving

# RFC 8058 §3.1.
FORM = {"List-Unsubscribe": "One-Click"}
SECONDS, MOST_BYTES = 15.0, 100_000


# And the reason, if it failed.
_Outcome = tuple[MailSource.Left, str]
LEFT = MailSource.Left


def unsubscribe(*, source: MailSource, now: datetime) -> None:
    """POST once, or send an email; record the outcome."""
    leaving = Leaving(**source.leaving)
    source.left_at = now
    outcome = _post(leaving.one_click) if leaving.one_click else _mail(source, leaving, now)
    source.left, source.left_problem = outcome
    source.save(update_fields=["left_at", "left", "left_problem"])


def _post(url: str) -> _Outcome:
    try:
        status = client().post(url, data=FORM, timeout=SECONDS, max_bytes=MOST_BYTES).status
    except FetchError as error:
        return LEFT.FAILED, str(error)
    return (LEFT.DONE, "") if 200 <= status < 300 else (LEFT.FAILED, f"The server answered HTTP {status}.")


def _mail(source: MailSource, leaving: Leaving, now: datetime) -> _Outcome:
    if not leaving.mailto:
        return LEFT.FAILED, "The messages name no way to unsubscribe."
    if not site_mail().is_sent():
        return LEFT.FAILED, "This site can’t send email."
    context = {"subject": leaving.subject, "address": source.sent_to}
    try:
        with transaction.atomic():
            site_mail().send(address=leaving.mailto, template="leave_request", context=context, now=now)
    except Refused as error:
        return LEFT.FAILED, str(error)
    return LEFT.MAILED, ""
