"""The list of deliveries: search and filters."""

from typing import Any

import pytest
from django.test import Client

from common.admin import lists
from common.admin.lists import BoundedPaginator, FewChoices
from tests.factories import DeliveryFactory, FeedFactory, ItemFactory, LaneFactory, SubscribableFactory

pytestmark = pytest.mark.django_db
LIST = "/admin/delivery/delivery/"


def found(client: Client, **asked: str) -> set[int]:
    answer = client.get(LIST, asked)
    assert answer.status_code == 200
    return {row.pk for row in answer.context["cl"].result_list}


def to(address: str, **facts: Any) -> Any:
    return DeliveryFactory(
        subscription__destination__core=address, domain=address.rpartition("@")[2], **facts
    )


def test_an_address_is_found_whole_and_by_its_beginning(admin_client: Client) -> None:
    ada, adam, eve = to("ada@one.example"), to("adam@two.example"), to("eve@one.example")
    assert found(admin_client, q="ada@one.example") == {ada.pk}
    assert found(admin_client, q=" ADA ") == {ada.pk, adam.pk}
    assert found(admin_client, q="da@one.example") == set()
    assert found(admin_client, q="") == {ada.pk, adam.pk, eve.pk}


def test_more_addresses_than_are_shown_are_told_of(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.admin.delivery.MOST_ADDRESSES_FOUND", 1)
    first, _ = to("ada@one.example"), to("adam@two.example")
    answer = admin_client.get(LIST, {"q": "ada"})
    assert {row.pk for row in answer.context["cl"].result_list} == {first.pk}
    assert "More than 1 addresses begin like that: type more of it." in answer.content.decode()


def test_a_domain_and_the_servers_id_are_looked_for_among_the_newest(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = to("ada@one.example", state="sent", remote_id="2.0.0 queued as 4C1"), to("eve@one.example")
    assert found(admin_client, q="one.example") == found(admin_client, q="@one.example") == {old.pk, new.pk}
    assert found(admin_client, q="4c1") == {old.pk}
    monkeypatch.setattr(lists, "SEARCHED", 1)
    assert found(admin_client, q="one.example") == {new.pk}


def test_kinds_lanes_and_states_are_filtered(admin_client: Client) -> None:
    other = LaneFactory(account="other")
    mail, issue = to("a@x.example", kind="sign_in"), to("b@x.example")
    failed = to("c@x.example", state="failed", lane=other)
    waiting = to("d@x.example", lane=other)
    assert found(admin_client, kind__exact="sign_in") == {mail.pk}
    assert found(admin_client, kind__exact="issue") == {issue.pk, failed.pk, waiting.pk}
    assert found(admin_client, lane__id__exact=str(other.pk)) == {waiting.pk}
    assert found(admin_client, state__exact="failed") == {failed.pk}
    assert found(admin_client, state__in="queued,deferred") == {mail.pk, issue.pk, waiting.pk}


def test_a_filter_lists_newsletters_only_while_they_are_few(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = to("ada@one.example").issue.subscribable
    other = SubscribableFactory(title="Another letter")
    assert "Another letter" in admin_client.get(LIST).content.decode()
    monkeypatch.setattr(FewChoices, "MOST", 1)
    assert "Another letter" not in admin_client.get(LIST).content.decode()
    chosen = f"issue__subscribable__{letter._meta.pk.name}__exact"
    assert len(found(admin_client, **{chosen: str(letter.pk)})) == 1
    assert found(admin_client, **{chosen: str(other.pk)}) == set()
    assert "e=1" in admin_client.get(LIST, {chosen: "x"}, follow=True).request["QUERY_STRING"]


def test_a_long_list_says_that_there_is_more(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    to("ada@one.example")
    assert "Filter or search" not in admin_client.get(LIST).content.decode()
    monkeypatch.setattr(BoundedPaginator, "MOST", 1)
    to("eve@one.example")
    answer = admin_client.get(LIST)
    assert answer.context["cl"].result_count == 1
    assert "The newest 1 are shown. Filter or search to see older ones." in answer.content.decode()


def test_posts_are_searched_within_a_feed_or_among_the_newest(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = FeedFactory()
    old = ItemFactory(feed=feed, title="Bees in winter")
    new = ItemFactory(title="Bees in spring")
    address = "/admin/feeds/item/"

    def shown(**asked: str) -> set[int]:
        return {row.pk for row in admin_client.get(address, asked).context["cl"].result_list}

    assert shown(q="bees") == {old.pk, new.pk}
    monkeypatch.setattr(lists, "SEARCHED", 1)
    assert shown(q="bees") == {new.pk}
    assert shown(q="bees", feed__id__exact=str(feed.pk)) == {old.pk}
