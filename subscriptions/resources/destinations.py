"""Addresses of people, and accounts of bridges."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet

from common.ports import channels
from common.ports.channels import InvalidDestination
from common.refused import Refused
from common.resources import ADMIN, API, Argument, Done, Filter, Resource, search, verb
from common.text import pluralize
from subscriptions.models import Destination
from subscriptions.privacy.erase import count_held, erase, is_suppressed
from subscriptions.subscribers.suppression import DISABLED_BY_HAND, MAX_REASON, disable, enable

LONGEST_ADDRESS = 700
STAYS = " It stays on the “Do not email” list."


def core_of(address: str) -> str:
    """Return the normalized email address, or "" for anything else."""
    try:
        return channels.get("email").parse_destination({"email": address}).core
    except InvalidDestination:
        return ""


def with_address(rows: Any, address: str) -> Any:
    return rows.filter(kind="email", core=core_of(address))


def is_person(destination: Destination) -> bool:
    """Return whether it has data of a person; bridges post to accounts."""
    return channels.get(destination.kind).public_sign_up and not destination.erased_at


def asks_to_erase(destinations: Sequence[Destination]) -> list[str]:
    sentences = []
    for destination in filter(is_person, destinations):
        held = count_held(destination)
        lost = f"{pluralize(held['subscriptions'], 'subscription')} and the record of "
        lost += f"{pluralize(held.get('mails', 0), 'email')} are deleted."
        sentences.append(f"{destination}: {lost}{STAYS if is_suppressed(destination) else ''}")
    if not sentences:
        return ["None of these addresses can be erased."]
    return [
        *sentences,
        "We keep that emails were sent, without address and name, and addresses on the “Do not email” list."
        " You can’t undo this.",
    ]


class Destinations(Resource[Destination]):
    noun = "destination"
    key = "address"
    key_help = "An address or a number, such as +49 1512 3456789."
    made_at = "added_at"
    filters = (
        Filter("kind", "The channel, such as email.", "kind", longest=20),
        Filter("address", "The whole email address. Quick.", narrow=with_address, longest=LONGEST_ADDRESS),
        Filter(
            "disabled",
            "Only those to which nothing is sent.",
            narrow=lambda rows, disabled: rows.filter(disabled_at__isnull=not disabled),
            kind=bool,
        ),
        search("Part of the address. Slow with very many.", "core", "label"),
    )

    def rows(self) -> "QuerySet[Destination]":
        """Erased ones remain only for the ledger."""
        return Destination.objects.filter(erased_at=None)

    def find(self, given: Any) -> Destination:
        kind, parsed = channels.parse_person(given)
        destination = self.rows().filter(kind=kind, core=parsed.core).first()
        if destination is None:
            raise Refused(f"Nothing is stored about {parsed.label}.")
        return destination

    @verb(
        "Erase this person’s data",
        fits=is_person,
        asks=asks_to_erase,
        is_harmful=True,
        permission="drop",
        deletes=(204,),
        most=20,
    )
    def erase(self, destination: Destination, *, now: datetime, by: str) -> Done:
        """Erase a person. Deletes all data about the address, with its subscriptions. It stays on the “Do not
        email” list if it’s there. This can’t be undone."""
        if by == ADMIN and not is_person(destination):
            raise Refused(f"A bridge posts to {destination}. Delete the bridge instead.")
        suppressed = is_suppressed(destination)
        erased = erase(destination=destination, now=now)
        said = f"The person’s data is erased: {pluralize(erased['subscriptions'], 'subscription')}, "
        said += f"{pluralize(erased['mails'], 'email')}.{STAYS if suppressed else ''}"
        return Done(said, {"address": destination.label, "suppressed": suppressed, "erased": erased})

    @verb("Disable", on=(API,))
    def disable(
        self,
        destination: Destination,
        *,
        reason: Annotated[
            str, Argument("Shown in the admin; usually “by hand”.", longest=MAX_REASON)
        ] = DISABLED_BY_HAND,
        now: datetime,
    ) -> str:
        """Send nothing there. Its subscriptions stay. The first reason is kept."""
        disable(destination=destination, reason=reason, now=now)
        return "Nothing is sent there."

    @verb("Enable again", on=(API, ADMIN), fits=lambda row: bool(row.disabled_at and not row.erased_at))
    def enable(self, destination: Destination) -> str:
        """Send there again. Ends a block, whether set by hand or after bounces. A suppression stays."""
        enable(destination=destination)
        return "The address can be emailed again."


destinations = Destinations()
