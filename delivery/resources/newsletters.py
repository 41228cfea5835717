"""The sending of newsletters: what can be done with it, by commands, the API and the admin."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from django.db.models import QuerySet

from common.ports import channels
from common.ports.panels import CannotAct
from common.resources import ADMIN, Argument, Done, verb
from common.text import pluralize
from delivery.issues.pause import (
    PAUSED_BY_HAND,
    going_words,
    pause_newsletter,
    resume_newsletter,
    still_going,
)
from delivery.letters.samples import NothingToShow, sample
from delivery.letters.trial import send_test_issue
from delivery.models import Issue
from subscriptions.models import Subscribable
from subscriptions.resources.newsletters import Newsletters
from subscriptions.subscribers.sign_up import is_by_code

MANY_NEWSLETTERS = 10_000


def asks_to_pause(newsletters: Sequence[Subscribable]) -> list[str]:
    return [
        "Its emails wait until you resume it. Emails already being handed over will still be sent. "
        "New posts are still collected, and confirmations are still sent."
    ]


def can_test_newsletter(newsletter: Subscribable) -> bool:
    """Return whether it sends mail, and has no next issue, which has this button itself."""
    is_mail = channels.get(newsletter.channel).public_sign_up and not is_by_code(newsletter)
    return is_mail and not newsletter.assignables.exists()


class SentNewsletters(Newsletters):
    noun = "newsletter"

    def rows(self) -> "QuerySet[Subscribable]":
        return Subscribable.objects.all()

    def shown(self, row: Subscribable) -> Mapping[str, Any]:
        return {"name": row.name, "paused": row.sending_paused_at is not None}

    @verb(
        "Pause sending",
        fits=lambda newsletter: newsletter.sending_paused_at is None,
        asks=asks_to_pause,
        is_rare=True,
        permission="pause",
    )
    def pause(
        self,
        newsletter: Subscribable,
        *,
        reason: Annotated[
            str, Argument("Shown to your team, such as: wrong sender, waiting for DNS.", longest=2000)
        ] = "",
        now: datetime,
    ) -> Done:
        """Pause all sending of a newsletter. It still collects posts; its issues wait."""
        paused = pause_newsletter(subscribable_id=newsletter.pk, reason=reason or PAUSED_BY_HAND, now=now)
        count = still_going(issues=Issue.objects.filter(subscribable=newsletter))
        said = f"“{newsletter}” {'is paused' if paused else 'was paused already'}. {going_words(count)}"
        return Done(said, {"name": newsletter.name, "paused": True, "changed": paused, "still_going": count})

    @verb(
        "Resume sending", fits=lambda newsletter: newsletter.sending_paused_at is not None, permission="pause"
    )
    def resume(self, newsletter: Subscribable, *, now: datetime, budget: timedelta | None) -> Done:
        """Resume a paused newsletter. Issues that are paused themselves stay paused."""
        queued = resume_newsletter(subscribable_id=newsletter.pk, now=now, budget=budget)
        rest = " The rest follows soon." if queued > MANY_NEWSLETTERS else ""
        said = f"“{newsletter}” is resumed. {pluralize(queued, 'email')} queued so far.{rest}"
        return Done(said, {"name": newsletter.name, "paused": False, "queued": queued})

    # A test is a mail.
    @verb("Send me a test", on=(ADMIN,), fits=can_test_newsletter, most=10)
    def send_test(self, newsletter: Subscribable, *, to: str, now: datetime) -> str:
        try:
            sample(newsletter, now=now)
        except NothingToShow as error:
            raise CannotAct(f"{newsletter}: {error}") from error
        send_test_issue(subscribable=newsletter, to=to, now=now)
        return f"We’ve sent a test to {to}."


newsletters = SentNewsletters()
