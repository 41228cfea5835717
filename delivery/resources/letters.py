"""Emails that editors write: what can be done with them, by commands, the API and the admin."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet

from common.ports.channels import InvalidDestination
from common.refused import Refused
from common.resources import ADMIN, API, COMMAND, Argument, Done, Filter, Resource, verb
from common.text import pluralize
from delivery.issues.audience import audience_words, count_readers
from delivery.issues.broadcasts import (
    drop_letter,
    in_letter_state,
    letter_text,
    schedule_letter,
    send_letter,
    unschedule_letter,
)
from delivery.issues.send_series import begin_for
from delivery.issues.series import remove_email, switch_on, take_email
from delivery.letters.templates import preview_written
from delivery.letters.trial import send_test_written
from delivery.models import Broadcast
from delivery.models.issue import LETTER_STATES
from delivery.resources.deliveries import delivery_row
from delivery.rules.audience import SERIES
from subscriptions.models import Subscribable, Subscription
from subscriptions.resources.newsletters import of_newsletter
from subscriptions.resources.subscribers import Subscribers


def letter_row(letter: Broadcast) -> dict[str, Any]:
    """Needs the newsletter selected."""
    return {
        "id": letter.pk,
        "newsletter": letter.subscribable.name,
        "subject": letter.subject,
        "to": audience_words(letter),
        "state": letter.state,
        "send_at": letter.send_at,
        "issue": letter.issue_id,
        "author": letter.author,
        "changed_at": letter.changed_at,
        "last_error": letter.last_error,
    }


def fits_series(letter: Broadcast) -> bool:
    """Return whether it is a draft, or was removed from the series."""
    is_there = letter.series_place is not None or letter.send_at is not None
    return not is_there and (letter.issue_id is None or SERIES in letter.audience)


class Letters(Resource[Broadcast]):
    noun = "email"
    plural = "letters"
    list_help = "List the emails that editors wrote: drafts, scheduled and sent ones."
    empty = "There are no such emails."
    filters = (
        of_newsletter("emails"),
        Filter("state", "Only emails in this state.", narrow=in_letter_state, choices=LETTER_STATES),
    )

    def rows(self) -> "QuerySet[Broadcast]":
        return Broadcast.objects.select_related("subscribable")

    def shown(self, row: Broadcast) -> Mapping[str, Any]:
        return letter_row(row)

    @verb("Show", command="show_letter", on=(COMMAND,))
    def show(
        self,
        letter: Broadcast,
        *,
        html: Annotated[bool, Argument("The html instead of the text part.")] = False,
        raw: Annotated[bool, Argument("The message as it would be sent.")] = False,
        markdown: Annotated[bool, Argument("The text as it was typed.")] = False,
        now: datetime,
    ) -> Done:
        """Print an email as a made-up subscriber would get it now; sends nothing."""
        if html + raw + markdown > 1:
            raise Refused("Give one of --html, --raw and --markdown.")
        shown = preview_written(subscribable=letter.subscribable, text=letter_text(letter), now=now)
        if shown.problem:
            raise Refused(str(shown.problem))
        forms = {"html": shown.html, "raw": shown.raw, "markdown": letter.markdown, "text": shown.text}
        chosen = "html" if html else "raw" if raw else "markdown" if markdown else "text"
        return Done(forms[chosen].rstrip("\n"), {**letter_row(letter), **forms})

    @verb("Send", command="send_letter", on=(COMMAND, API))
    def send(
        self,
        letter: Broadcast,
        *,
        at: Annotated[datetime | None, Argument("Send at this time, not now.")] = None,
        count: Annotated[bool, Argument("Only say to how many it would go now.", on=(COMMAND,))] = False,
        undo: Annotated[bool, Argument("Remove it from the schedule.", on=(COMMAND,))] = False,
        test: Annotated[str, Argument("Only to this address, marked as a test.", on=(COMMAND,))] = "",
        version: Annotated[
            int | None, Argument("The version that you read. 409 if the email was changed since.", on=(API,))
        ] = None,
        now: datetime,
    ) -> str | Done:
        """Send an email to its recipients, now or at a time. It becomes an issue."""
        if sum(map(bool, (at, count, undo, test))) > 1:
            raise Refused("Give one of --at, --count, --undo and --test.")
        if count:
            readers, every = count_readers(letter)
            to = audience_words(letter)
            said = f"{readers:,} of {pluralize(every, 'subscriber')}: {to}"
            return Done(said, {"count": readers, "of": every, "to": to})
        if test:
            return self.test(letter, to=test, now=now)
        if undo:
            return self.unschedule(letter)
        version = letter.version if version is None else version
        if at is not None:
            schedule_letter(letter_id=letter.pk, at=at, version=version, now=now)
            return "Scheduled. Until then you can stop it."
        queued = send_letter(letter_id=letter.pk, version=version, now=now)
        return f"Sending to {pluralize(queued, 'subscriber')}."

    @verb("Unschedule", on=(API,))
    def unschedule(self, letter: Broadcast) -> str:
        """Unschedule an email. It becomes a draft again. 409 if it was sent."""
        unschedule_letter(letter_id=letter.pk)
        return "It’s a draft again and won’t be sent until you send it."

    @verb("Send a test", on=(API,), command="test_letter")
    def test(
        self, letter: Broadcast, *, to: Annotated[str, Argument("One address.", longest=700)], now: datetime
    ) -> Done:
        """Send a test to one address. Marked “Test” in its subject."""
        try:
            test = send_test_written(
                subscribable=letter.subscribable, text=letter_text(letter), to=to, now=now
            )
        except InvalidDestination as error:
            raise Refused(str(error), "to") from error
        return Done(f"We’ve sent a test to {test.destination}.", delivery_row(test))

    @verb("Add to the series", command="add_to_series", fits=fits_series)
    def add_to_series(
        self,
        letter: Broadcast,
        *,
        days: Annotated[int | None, Argument("Days after the email before it, or after the sign-up.")] = None,
        now: datetime,
    ) -> str:
        """Put a draft or a removed email at the end of the series, and switch it on there."""
        take_email(letter_id=letter.pk, days=days, now=now)
        switch_on(letter_id=letter.pk, version=letter.version, now=now)
        return f"“{letter}” is an email of the series."

    @verb(
        "Remove from the series",
        command="remove_from_series",
        fits=lambda letter: letter.series_place is not None,
    )
    def remove_from_series(self, letter: Broadcast) -> str:
        """Remove an email from the series. Nobody gets it any more; a draft becomes an ordinary one."""
        remove_email(letter_id=letter.pk)
        return f"“{letter}” is removed from the series."

    @verb(
        "Delete",
        command="drop_letter",
        asks=lambda rows: [f"“{row}” and its text will be deleted. You can’t undo this." for row in rows],
        is_harmful=True,
        permission="drop",
        deletes=(204,),
    )
    def drop(self, letter: Broadcast) -> str:
        """Delete an email that was not sent."""
        drop_letter(letter_id=letter.pk)
        return f"“{letter}” is deleted."


class SeriesSubscribers(Subscribers):
    noun = "subscriber"

    def rows(self) -> "QuerySet[Subscription]":
        return Subscription.objects.select_related("subscribable", "destination")

    def shown(self, row: Subscription) -> Mapping[str, Any]:
        return {"id": row.pk, "destination": row.destination.label}

    @verb(
        "Begin the series",
        command="begin_series",
        on=(COMMAND, ADMIN),
        fits=lambda row: row.subscribable.welcome == Subscribable.Welcome.SERIES,
        most=1000,
    )
    def begin_series(self, row: Subscription, *, now: datetime) -> str:
        """Begin the series for a subscriber who is here already, or go on where they left it."""
        begin_for(subscription=row, now=now)
        return "In the series. Emails that they have aren’t sent again."


letters, series_subscribers = Letters(), SeriesSubscribers()
