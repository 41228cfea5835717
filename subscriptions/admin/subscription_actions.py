from typing import Any

from django import forms
from django.db.models import Count
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminSelectWidget

from common.clock import utcnow
from common.ports.panels import Action, CannotAct
from common.text import pluralize
from subscriptions.models import Subscribable, Subscription
from subscriptions.subscribers import bulk
from subscriptions.subscribers.details import revoke_links


def _with_status(keys: list[int]) -> dict[str, int]:
    rows = Subscription.objects.filter(pk__any_of=frozenset(keys)).order_by()
    return dict(rows.values_list("status").annotate(n=Count("pk")))


def what_confirming_does(keys: list[int]) -> list[str]:
    counts = _with_status(keys)
    waiting, left = (
        counts.get(Subscription.Status.UNCONFIRMED, 0),
        counts.get(Subscription.Status.UNSUBSCRIBED, 0),
    )
    sentences = [
        f"{pluralize(waiting, 'subscriber')} will get the newsletter without confirming "
        "themselves. Only do this if you can prove that they agreed. No email is sent."
    ]
    if left:
        sentences.append(f"{pluralize(left, 'subscriber')} unsubscribed; only they can subscribe again.")
    if already := counts.get(Subscription.Status.CONFIRMED, 0):
        sentences.append(f"{pluralize(already, 'subscriber')} confirmed already and don’t change.")
    return sentences


def what_ending_does(keys: list[int]) -> list[str]:
    counts = _with_status(keys)
    going = counts.get(Subscription.Status.CONFIRMED, 0) + counts.get(Subscription.Status.UNCONFIRMED, 0)
    sentences = [
        f"{pluralize(going, 'subscriber')} won’t get any more issues. They can subscribe again at any time."
    ]
    if left := counts.get(Subscription.Status.UNSUBSCRIBED, 0):
        sentences.append(f"{pluralize(left, 'subscriber')} unsubscribed already and don’t change.")
    return sentences


def unsubscribe_chosen(request: HttpRequest, keys: list[int]) -> str:
    return f"{pluralize(bulk.unsubscribe_many(keys=keys, now=utcnow()), 'subscriber')} unsubscribed."


class MoveForm(forms.Form):
    to = forms.ChoiceField(
        label="To",
        widget=UnfoldAdminSelectWidget(),
        help_text="Keeps their names, dates, proof of consent and links. No email is sent.",
        error_messages={"required": "Choose the newsletter."},
    )

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        moving = bulk.movable(keys).count()
        self.intro = f"{pluralize(moving, 'subscriber')} can move to another newsletter."
        if staying := len(keys) - moving:
            self.intro += f" The other {staying:,} unsubscribed, never confirmed, or are changing frequency."
        field: Any = self.fields["to"]
        choices = []
        for target in bulk.targets(keys):
            there = f", {target.there:,} already get it" if target.there else ""
            words = f"{target.subscribable}: {target.moving:,} move{there}"
            choices.append((str(target.subscribable.pk), words))
        field.choices = choices
        if not choices:
            self.intro += " There is no other newsletter of the same channel."


def move_chosen(request: HttpRequest, keys: list[int], *, to: str) -> str:
    target = Subscribable.objects.filter(pk=to).first()
    if target is None:
        raise CannotAct("That newsletter was deleted.")
    moved = bulk.move_many(keys=keys, target=target, now=utcnow())
    return f"{pluralize(moved, 'subscriber')} moved to {target}."


def what_revoking_does(keys: list[int]) -> list[str]:
    count = pluralize(len(keys), "subscriber")
    return [
        f"All links in emails that {count} got so far stop working, including the unsubscribe links.",
        "New emails have new links. Do this if somebody else got hold of an email.",
    ]


def revoke_links_of_chosen(request: HttpRequest, keys: list[int]) -> str:
    for subscription in Subscription.objects.filter(pk__any_of=frozenset(keys)).order_by("pk").iterator():
        revoke_links(subscription=subscription)
    return f"The old links of {pluralize(len(keys), 'subscriber')} no longer work."


ACTIONS = (
    Action(
        "confirm",
        "Confirm",
        lambda _, keys: f"{pluralize(bulk.confirm_many(keys=keys, now=utcnow()), 'subscriber')} confirmed.",
        what_confirming_does,
        fits=lambda row: row.status == "unconfirmed",
    ),
    Action(
        "move",
        "Move to another newsletter",
        move_chosen,
        form=MoveForm,
        fits=lambda row: row.status == "confirmed",
    ),
    Action(
        "end",
        "Unsubscribe",
        unsubscribe_chosen,
        what_ending_does,
        fits=lambda row: row.status != "unsubscribed",
    ),
    Action("revoke", "Revoke links", revoke_links_of_chosen, what_revoking_does),
)
