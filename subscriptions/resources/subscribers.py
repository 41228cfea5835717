"""Subscribers, the “Do not email” list, and rules for posts: by commands, the API and the admin."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.db.models import QuerySet

from common.cli.tables import shown_fields
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.refused import Refused
from common.resources import ADMIN, API, COMMAND, Done, Filter, Resource, search, verb
from subscriptions.collections.post_rules import drop_rule
from subscriptions.models import PostRule, Subscription, Suppression, Tagging
from subscriptions.resources.destinations import LONGEST_ADDRESS, core_of
from subscriptions.resources.newsletters import of_newsletter
from subscriptions.rules.tags import LONGEST_TAG, tag_key
from subscriptions.subscribers.suppression import lift
from subscriptions.subscribers.tags import fetch_tags


def of_address(rows: Any, address: str) -> Any:
    return rows.filter(destination__kind="email", destination__core=core_of(address))


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
