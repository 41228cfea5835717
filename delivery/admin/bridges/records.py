"""The tab Share of a newsletter: its records in an AT Protocol account."""

from django import forms
from django.http import HttpRequest

from common.clock import utcnow
from common.parts import Button, Code, Facts, Part, Text
from common.ports.panels import Action, Panel
from delivery.admin.bridges.add import add_bridge_url
from delivery.bridges.records import accounts, is_on, records_of, subscription_of, switch_off, switch_on
from subscriptions.models import Destination, Subscribable

OFFER = (
    "Apps for reading on the AT Protocol, which Bluesky uses, can show this newsletter. Each issue "
    "becomes a record in your account, without a post on Bluesky."
)
NO_ACCOUNT = "Add a bridge to Bluesky first. Its account is used."


class AccountForm(forms.Form):
    account = forms.ModelChoiceField(
        accounts(),
        label="Account",
        empty_label=None,
        help_text="An account of a Bluesky bridge. If there is none, add a bridge first.",
    )


def may_have_records(newsletter: Subscribable) -> bool:
    return newsletter.visibility == Subscribable.Visibility.PUBLIC and subscription_of(newsletter) is None


def records(newsletter: Subscribable) -> Part:
    subscription = subscription_of(newsletter)
    if subscription is None:
        if newsletter.visibility != Subscribable.Visibility.PUBLIC:
            return ""
        if accounts().exists():
            return OFFER
        return (OFFER, NO_ACCOUNT, Button(add_bridge_url(), "Add a bridge", is_plain=True))
    to = subscription.destination
    trouble = f"Nothing is written: {to.disabled_reason} Reconnect the bridge, and start again here."
    return (
        Text(trouble, "alert") if to.disabled_at else "",
        Facts(("Account", to.label)),
        Code(records_of(newsletter).publication, is_copied=True),
    )


def publish_records(request: HttpRequest, keys: list[int], account: Destination) -> str:
    for newsletter in Subscribable.objects.filter(pk__in=keys):
        switch_on(newsletter, account, now=utcnow())
    return f"Its next issues become records of {account}."


def stop_records(request: HttpRequest, keys: list[int]) -> str:
    for newsletter in Subscribable.objects.filter(pk__in=keys):
        switch_off(newsletter, now=utcnow())
    return "No more records are written."


def what_stops(keys: list[int]) -> list[str]:
    return ["Records that exist stay in the account, but this site no longer confirms that they are its own."]


PANEL = Panel("AT Protocol", records, order=36, tab="share")
START = Action(
    "publish_records",
    "Publish for AT Protocol readers",
    publish_records,
    # Other newsletters' bridges have accounts, too.
    permission="everywhere",
    form=lambda keys, **options: AccountForm(**options),
    fits=may_have_records,
    tab="share",
)
STOP = Action(
    "stop_records",
    "Stop AT Protocol records",
    stop_records,
    confirm=what_stops,
    fits=is_on,
    is_rare=True,
    tab="share",
)
