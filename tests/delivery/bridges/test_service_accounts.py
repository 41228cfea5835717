"""Accounts shared by many bridges, of any declared kind; mail does not list them."""

from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import NonCallableMock

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from channels.base import CrashPolicy
from channels.bridge import Bridge
from channels.email.spec import EmailSpec
from common.ports import channels
from common.ports.channels import Field, InvalidDestination, ParsedDestination
from delivery.accounts.accounts import (
    add_service_account,
    alter_service_account,
    default_account,
    drop_service_account,
    facts_of,
    lacks_account,
    usual_sender,
)
from delivery.models import Account, Lane, ServiceAccount
from tests.factories import NOW, DestinationFactory, FeedFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
ADD = "/admin/delivery/serviceaccount/add/"


class PigeonSpec(Bridge):
    """Service of lofts, each with many pigeons and one keeper."""

    key = "pigeon"
    label = "Pigeons"
    sentence = "A note on a leg."
    crash_policy = CrashPolicy.HOLD
    post = body = looks = NonCallableMock()
    destination_fields: tuple[Field, ...] = (Field("pigeon", "Pigeon", required=True),)
    account_fields = (
        Field("loft", "Loft", "Such as north.", required=True),
        Field("whistle", "Whistle", "The keeper has it.", required=True, secret=True),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        return ParsedDestination(core=f"north/{given['pigeon']}", label=given["pigeon"])

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        return destination

    def check_account(self, values: Mapping[str, str]) -> str:
        if values["whistle"] != "tweet":
            raise InvalidDestination("whistle: no pigeon comes.")
        return f"the keeper of {values['loft']}"


@pytest.fixture(autouse=True)
def kind() -> Iterator[PigeonSpec]:
    made = PigeonSpec()
    channels.register(made)
    yield made
    del channels._registry["pigeon"]


def an_account() -> ServiceAccount:
    values = {"loft": "north", "whistle": "tweet"}
    return add_service_account(kind="pigeon", name="north", values=values, now=NOW)


def a_pigeon() -> Any:
    bridge = SubscribableFactory(channel="pigeon", sign_up="closed")
    pigeon = DestinationFactory(kind="pigeon", core="north/martha", label="martha")
    return SubscriptionFactory(subscribable=bridge, destination=pigeon)


def test_an_account_is_kept_when_the_service_knows_it(kind: PigeonSpec) -> None:
    assert lacks_account(kind)
    an_account()
    row = ServiceAccount.objects.get()
    assert (row.kind, row.label, row.secrets.open()["whistle"]) == ("pigeon", "the keeper of north", "tweet")
    assert not lacks_account(kind)
    with pytest.raises(InvalidDestination, match="no pigeon comes"):
        add_service_account(kind="pigeon", name="south", values={"loft": "south", "whistle": "moo"}, now=NOW)
    with pytest.raises(InvalidDestination, match="uses accounts"):
        add_service_account(kind="mastodon", name="south", values={}, now=NOW)
    with pytest.raises(ValidationError, match="already"):
        an_account()
    assert ServiceAccount.objects.count() == 1


def test_its_lanes_get_what_was_given_last_and_go_on() -> None:
    account = an_account()
    parent = Lane.objects.create(kind="pigeon", account="north", free_at=NOW, failures=2, last_error="401")
    lane = Lane.objects.create(kind="pigeon", account="north/martha", parent=parent, free_at=NOW)
    alter_service_account(account=account, values={"loft": "far north"}, now=NOW)
    parent.refresh_from_db()
    lane.refresh_from_db()
    assert (parent.free_at, parent.failures, lane.free_at) == (None, 0, None)
    assert facts_of(lane).credentials == {"loft": "far north", "whistle": "tweet"}


def test_one_that_is_used_is_not_deleted() -> None:
    account = an_account()
    subscription = a_pigeon()
    with pytest.raises(ValidationError, match="1 bridge posts with north"):
        drop_service_account(account=account)
    subscription.delete()
    drop_service_account(account=account)
    assert not Account.objects.exists()


def test_mail_knows_nothing_of_them(admin_client: Client) -> None:
    an_account()
    Account.objects.update(is_default=True, sender="keeper@loft.example")
    assert default_account() is None
    assert "keeper" not in usual_sender("north")
    assert [key for key, _ in EmailSpec().option_fields[0].choices() or ()] == [""]  # type: ignore[misc]
    assert "north" not in admin_client.get("/admin/mail/").content.decode()
    assert "north" not in admin_client.get("/admin/delivery/account/").content.decode()


def test_one_is_added_and_changed_in_the_admin(admin_client: Client) -> None:
    page = admin_client.get(ADD).content.decode()
    assert "Whistle" in page
    given = {"service": "pigeon", "name": "north", "pigeon_loft": "north", "pigeon_whistle": "moo"}
    page = admin_client.post(ADD, given).content.decode()
    assert "No pigeon comes." in page
    assert "moo" not in page
    assert not ServiceAccount.objects.exists()
    admin_client.post(ADD, {**given, "pigeon_whistle": "tweet"})
    row = ServiceAccount.objects.get()
    a_pigeon()
    url = f"/admin/delivery/serviceaccount/{row.pk}/change/"
    page = admin_client.get(url).content.decode()
    assert "the keeper of north" in page
    assert "martha" in page
    assert "tweet" not in page
    # Unchanged fields are shown, unless secret.
    assert 'name="own_loft" value="north"' in page
    assert "No pigeon comes." in admin_client.post(url, {"own_whistle": "moo"}).content.decode()
    admin_client.post(url, {"own_loft": "far north", "own_whistle": ""})
    assert ServiceAccount.objects.get().secrets.open() == {"loft": "far north", "whistle": "tweet"}


def test_actions_ask_the_service_and_delete(admin_client: Client) -> None:
    row = an_account()
    listed = "/admin/delivery/serviceaccount/"

    def act(**given: Any) -> str:
        data = {"_selected_action": row.pk, "index": 0, **given}
        return admin_client.post(listed, data, follow=True).content.decode()

    assert "Connected as the keeper of north." in act(action="ask")
    pigeon = a_pigeon()
    act(action="drop", confirmed="yes")
    assert ServiceAccount.objects.exists()
    pigeon.delete()
    act(action="drop", confirmed="yes")
    assert not ServiceAccount.objects.exists()


def test_a_bridge_that_needs_an_account_first_says_so(admin_client: Client) -> None:
    FeedFactory()
    way = f'href="{ADD}?kind=pigeon"'
    assert way in admin_client.get("/admin/add-bridge/?kind=pigeon").content.decode()
    an_account()
    assert way not in admin_client.get("/admin/add-bridge/?kind=pigeon").content.decode()
