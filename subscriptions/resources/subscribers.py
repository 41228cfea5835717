"""Subscribers, the “Do not email” list, and rules for posts: by commands, the API and the admin.

Addresses of people, and accounts of bridges.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet

from common.cli.commands import shown_fields
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.refused import Refused
from common.resources import ADMIN, API, COMMAND, Argument, Done, Filter, Resource, search, verb
from common.text import pluralize
from subscriptions.collections.post_rules import drop_rule
from subscriptions.models import Destination, PostRule, Subscription, Suppression, Tagging
from subscriptions.privacy.erase import count_held, erase
from subscriptions.resources.newsletters import of_newsletter
from subscriptions.rules.tags import LONGEST_TAG, tag_key
from subscriptions.subscribers.suppression import (
    DISABLED_BY_HAND,
    MAX_REASON,
    disable,
    email_core,
    enable,
    lift,
)
from subscriptions.subscribers.tags import fetch_tags

LONGEST_ADDRESS = 700
STAYS = " It stays on the “Do not email” list."


def of_address(rows: Any, address: str) -> Any:
    return rows.filter(destination__kind="email", destination__core=email_core(address))


def with_tag(rows: Any, tag: str) -> Any:
    tagged = Tagging.objects.filter(tag__key=tag_key(tag.strip()))
    return rows.filter(destination__in=tagged.values("destination"))


class Subscribers(Resource[Subscription]):
    noun = "subscriber"
    list_help = "List the subscribers of a newsletter, whatever their status."
    empty = "There are no subscribers yet. Add one: subscribe NAME --email ada@example.org"
    made_at = "added_at"
    filters = (
        of_newsletter("subscribers", is_optional=False),
        Filter("destination", "The address’s id.", "destination", kind=int, on=(API,)),
        Filter("status", "Only those with this status.", "status", choices=Subscription.Status.values),
        Filter("address", "The whole email address. Quick.", narrow=of_address, longest=LONGEST_ADDRESS),
        Filter("tag", "A tag’s name, in upper or lower case.", narrow=with_tag, longest=LONGEST_TAG),
        search(
            "Part of the address or name. Slow with very many subscribers.",
            "destination__core",
            "display_name",
        ),
    )

    def rows(self) -> "QuerySet[Subscription]":
        rows = Subscription.objects.with_suppressed().select_related("subscribable")
        return rows.prefetch_related(fetch_tags("destination"))

    def shown(self, row: Any) -> Mapping[str, Any]:
        return {
            "id": row.pk,
            "destination": row.destination.label,
            "name": row.display_name,
            "status": "suppressed" if row.suppressed else row.status,
            "confirmed": row.status == Subscription.Status.CONFIRMED,
            "added": row.added_at,
        }


class Suppressions(Resource[Suppression]):
    noun = "suppression"
    key = "address"
    key_help = "An address as “list_suppressions” shows it."
    list_help = (
        "Show the “Do not email” list of addresses that nothing is sent to. “lift_suppression” removes one."
    )
    empty = "The list is empty."
    filters = (search("Part of the address or reason.", "core", "reason"),)

    def rows(self) -> "QuerySet[Suppression]":
        return Suppression.objects.all()

    def shown(self, row: Suppression) -> Mapping[str, Any]:
        facts = {"id": row.pk, "kind": row.kind, "address": row.core, "reason": row.reason}
        return {**facts, "since": row.created_at}

    def find(self, given: Any) -> Suppression:
        cores = {given}
        for kind in channels.person_kinds():
            with suppress(InvalidDestination):
                cores.add(channels.parse_typed(kind, given).core)
        row = self.rows().filter(core__in=cores).first()
        if row is None:
            raise Refused(f"{given} is not on the list “Do not email”. “list_suppressions” shows it.")
        return row

    @verb("Allow email again", on=(COMMAND, ADMIN), permission="drop")
    def lift(self, row: Suppression) -> Done:
        """Remove an address from the “Do not email” list, so that emails are sent to it again."""
        lift(suppressions=[row])
        return Done(f"{row.core} can be emailed again.", {"address": row.core, "suppressed": False})


class Rules(Resource[PostRule]):
    noun = "rule"
    list_help = "List the rules of a newsletter for the posts of its feeds."
    empty = (
        "It has no rules, so it takes every post unchanged. Add one: add_rule NAME --drop --contains WORDS"
    )
    filters = (of_newsletter("rules", is_optional=False),)

    def rows(self) -> "QuerySet[PostRule]":
        return PostRule.objects.select_related("subscribable")

    def shown(self, row: PostRule) -> Mapping[str, Any]:
        return {
            "id": row.pk,
            "rule": str(row),
            **shown_fields(row, "action field test pattern"),
            "with": row.replacement,
            **shown_fields(row, "active trouble"),
        }

    @verb("Delete", on=(COMMAND,))
    def drop(self, rule: PostRule) -> Done:
        """Delete a rule for posts."""
        pk, said = rule.pk, drop_rule(rule=rule)
        return Done(f"No longer a rule of {rule.subscribable}: {said}", {"id": pk, "rule": said})


subscribers, suppressions, rules = Subscribers(), Suppressions(), Rules()


def with_address(rows: Any, address: str) -> Any:
    return rows.filter(kind="email", core=email_core(address))


def is_person(destination: Destination) -> bool:
    """Return whether it has data of a person; bridges post to accounts."""
    return channels.get(destination.kind).public_sign_up and not destination.erased_at


def asks_to_erase(destinations: Sequence[Destination]) -> list[str]:
    sentences = []
    for destination in filter(is_person, destinations):
        held = count_held(destination)
        lost = f"{pluralize(held['subscriptions'], 'subscription')} and the record of "
        lost += f"{pluralize(held.get('mails', 0), 'email')} are deleted."
        sentences.append(f"{destination}: {lost}{STAYS if destination.suppression else ''}")
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
        suppressed = destination.suppression is not None
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
