"""Erasing a person from an address's page."""

from django.db.models import QuerySet
from django.http import HttpRequest

from common.clock import utcnow
from common.ports import channels
from common.ports.panels import Action, CannotAct
from common.text import pluralize
from subscriptions.models import Destination
from subscriptions.privacy.erase import count_held, erase, is_suppressed

AT_ONCE = 20


def what_erasing_does(keys: list[int]) -> list[str]:
    said = []
    for one in _people(keys)[:AT_ONCE]:
        held = count_held(one)
        mails = pluralize(held.get("mails", 0), "mail")
        lost = f"{pluralize(held['subscriptions'], 'subscription')} and what is known of {mails}"
        stays = " It stays on the list “Do not write”." if is_suppressed(one) else ""
        said.append(f"{one}: {lost} are erased.{stays}")
    if not said:
        return ["None of them is a person’s address that can be erased."]
    return [
        *said,
        "What stays: that letters were sent to somebody, without address and name, and the address of who is "
        "on the list “Do not write”. It cannot be undone.",
    ]


def erase_people(request: HttpRequest, keys: list[int]) -> str:
    people = list(_people(keys)[: AT_ONCE + 1])
    if len(people) > AT_ONCE:
        raise CannotAct(f"Please choose at most {AT_ONCE} at once.")
    for one in people:
        erase(destination=one, now=utcnow())
    return f"All that was held about {pluralize(len(people), 'address', 'addresses')} is erased."


def _people(keys: list[int]) -> "QuerySet[Destination]":
    """Addresses, numbers and devices of people. The accounts that bridges post to belong to nobody."""
    kinds = [kind.key for kind in channels.person_kinds()]
    return Destination.objects.filter(pk__in=keys, kind__in=kinds, erased_at=None).order_by("pk")


ERASE = Action(
    "erase",
    "Erase this person’s data",
    erase_people,
    confirm=what_erasing_does,
    permission="drop",
    fits=lambda row: channels.get(row.kind).public_sign_up and not row.erased_at,
)
