"""The list of deliveries: search and filters.

A delivery's page says what it waits for, and what a person can do about it.
Bounces in the admin.
After a restore, the admin shows a notice above all else, and lets a person decide.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from common.admin import lists
from common.admin.html import block, inline
from common.admin.lists import BoundedPaginator, FewChoices
from delivery.admin.delivery import waits_for
from delivery.engine.claim import begin, is_open
from delivery.models import Bounce, Delivery, LaneDomain
from delivery.panels import item_issues
from subscriptions.models import Suppression
from tests.delivery.ledger import queued, states
from tests.factories import (
    NOW,
    BounceFactory,
    DeliveryFactory,
    FeedFactory,
    IssueFactory,
    IssueItemFactory,
    ItemFactory,
    LaneFactory,
    SubscribableFactory,
    an_issue,
)

PAGE = "admin:delivery_restore_changelist"
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


def said(**facts: Any) -> str:
    row = DeliveryFactory(domain="x.example", **facts)
    return inline(waits_for(row))


def a_paused_domain(row: Any) -> None:
    LaneDomain.objects.create(
        lane=row.lane, domain="x.example", refilled_at=NOW, paused=True, paused_reason="They refuse us."
    )


@pytest.mark.parametrize("state", ["sent", "queued", "deferred", "cancelled"])
def test_what_is_done_or_goes_at_its_time_waits_for_nobody(state: str) -> None:
    assert said(state=state) == ""


@pytest.mark.parametrize(
    ("held_for", "words"),
    [
        ("", "For you: nobody knows whether it arrived."),
        ("restore", "For you: a backup was restored"),
        ("pause", "The pause has ended: it is sent in a moment."),
        ("domain", "Its domain’s pause has ended: it is sent in a moment."),
    ],
)
def test_what_is_held_says_for_whom(held_for: str, words: str) -> None:
    assert words in said(state="held", held_for=held_for)


@pytest.mark.parametrize("facts", [{"state": "held", "held_for": "pause"}, {"state": "queued"}])
def test_a_pause_is_named_with_where_it_is_ended(facts: dict[str, str]) -> None:
    row = DeliveryFactory(domain="x.example", **facts)
    newsletter = row.issue.subscribable
    newsletter.sending_paused_at, newsletter.sending_paused_reason = NOW, "Many complained."
    assert f"{newsletter}</a> is paused: Many complained. Resume it" in inline(waits_for(row))
    row.issue.paused_at = NOW - timedelta(hours=1)
    assert f"{row.issue}</a> is paused. Resume it" in inline(waits_for(row))


@pytest.mark.parametrize("facts", [{"state": "held", "held_for": "domain"}, {"state": "deferred"}])
def test_a_domain_that_refuses_us_is_named_with_its_lane(facts: dict[str, str]) -> None:
    row = DeliveryFactory(domain="x.example", **facts)
    a_paused_domain(row)
    assert inline(waits_for(row)).startswith("Emails to x.example are paused in ")
    assert "They refuse us. Resume them there" in inline(waits_for(row))


def test_a_paused_lane_is_named_last() -> None:
    row = DeliveryFactory(domain="x.example", state="queued")
    row.lane.paused, row.lane.paused_reason = True, "The password is wrong."
    assert "is paused: The password is wrong. Resume it" in inline(waits_for(row))
    a_paused_domain(row)
    assert "The password is wrong." not in inline(waits_for(row))


def page(client: Client, name: str, *args: Any, **query: str) -> str:
    return client.get(reverse(f"admin:{name}", args=args), query).content.decode()


def test_bounces_can_be_searched_and_filtered(admin_client: Client) -> None:
    BounceFactory(diagnostic="550 5.1.1 Nobody of that name")
    BounceFactory(kind="soft", diagnostic="Mailbox <b>full</b>")
    found = page(admin_client, "delivery_bounce_changelist", q="full")
    assert "Mailbox &lt;b&gt;full&lt;/b&gt;" in found
    assert "Nobody of that name" not in found
    assert "Nobody of that name" in page(admin_client, "delivery_bounce_changelist", kind__exact="hard")


def test_a_delivery_a_subscriber_and_an_address_tell_what_came_back(admin_client: Client) -> None:
    bounce = BounceFactory(diagnostic="550 <i>gone</i>")
    other = BounceFactory(diagnostic="550 somebody else")
    delivery = bounce.delivery
    for name, row in (
        ("delivery_delivery", delivery),
        ("subscriptions_subscription", delivery.subscription),
        ("subscriptions_destination", delivery.destination),
    ):
        shown = page(admin_client, f"{name}_change", row.pk)
        assert "550 &lt;i&gt;gone&lt;/i&gt;" in shown
        assert other.diagnostic not in shown


@pytest.mark.parametrize(("action", "count"), [("suppress_held", 1), ("let_be", 0)])
def test_a_person_decides_on_what_is_held(admin_client: Client, action: str, count: int) -> None:
    held, settled = BounceFactory(held=True), BounceFactory()
    assert "1 bounce is held for you" in page(admin_client, "index")
    chosen = {"action": action, "_selected_action": [held.pk, settled.pk]}
    admin_client.post(reverse("admin:delivery_bounce_changelist"), chosen)
    assert Suppression.objects.count() == count
    assert not Bounce.objects.filter(held=True).exists()
    assert "held for you" not in page(admin_client, "index")


@pytest.fixture
def restored() -> None:
    queued(2, issue=IssueFactory(title="Sent before"))
    queued(1, issue=IssueFactory(title="Not sent"))
    ItemFactory()
    begin(now=NOW)


def index(client: Client) -> str:
    return client.get(reverse("admin:index")).content.decode()


def post(client: Client, **data: str) -> str:
    return client.post(reverse(PAGE), data, follow=True).content.decode()


def test_without_a_restore_nothing_is_said(admin_client: Client) -> None:
    assert "backup" not in index(admin_client)
    assert "manage.py after_restore" in admin_client.get(reverse(PAGE)).content.decode()


def test_the_first_page_says_it_first_with_two_answers(admin_client: Client, restored: None) -> None:
    shown = index(admin_client)
    assert "3 deliveries and 1 post are held" in shown
    assert shown.index("A backup was restored") < shown.index("fl-next")
    assert "Look through" in shown
    assert "Send all of it" in shown


def test_sending_all_of_it_is_confirmed_first(admin_client: Client, restored: None) -> None:
    assert "3 deliveries will be sent" in post(admin_client, go="1")
    assert states() == {"held": 3}
    assert "3 deliveries queued so far" in post(admin_client, go="1", confirmed="1")
    assert (states(), is_open()) == ({"queued": 3}, None)


def test_an_issue_that_had_gone_out_is_not_sent(admin_client: Client, restored: None) -> None:
    shown = admin_client.get(reverse(PAGE)).content.decode()
    issue = Delivery.objects.filter(issue__title="Sent before").values_list("issue", flat=True)[0]
    assert shown.index("Not sent") != shown.index("Sent before")
    assert "2 readers will not get" in post(admin_client, issue=str(issue))
    assert states() == {"held": 3}
    assert "2 deliveries of “Sent before” cancelled" in post(admin_client, issue=str(issue), confirmed="1")
    assert states() == {"cancelled": 2, "held": 1}


def test_an_issue_that_is_gone_is_said_so(admin_client: Client, restored: None) -> None:
    assert "no longer exists" in post(admin_client, issue="999999")


def test_only_who_may_change_deliveries_decides(
    client: Client, restored: None, django_user_model: Any
) -> None:
    client.force_login(django_user_model.objects.create_user("staff", is_staff=True))
    assert client.get(reverse(PAGE)).status_code == 403
    assert client.post(reverse(PAGE), {"go": "1", "confirmed": "1"}).status_code == 403
    assert states() == {"held": 3}


def test_a_posts_page_says_how_many_got_it(admin_client: Client) -> None:
    issue = an_issue(posts=1)
    for state in ("sent", "sent", "failed"):
        DeliveryFactory(issue=issue, state=state)
    item = issue.issue_items.get().item
    assert item is not None
    assert "1 failed, 2 sent" in block(item_issues(item))
    assert "2 sent" in admin_client.get(reverse("admin:feeds_item_change", args=[item.pk])).content.decode()


def test_an_issue_that_nobody_got_says_none() -> None:
    item = ItemFactory(state="cleared")
    IssueItemFactory(issue=IssueFactory(published_at=None), item=item)
    assert ">none<" in block(item_issues(item))
    assert "waits for approval" in block(item_issues(item))


def test_issues_are_counted_in_one_question(django_assert_num_queries: object) -> None:
    item = ItemFactory(state="cleared")
    for _ in range(4):
        issue = IssueFactory()
        IssueItemFactory(issue=issue, item=item)
        DeliveryFactory(issue=issue)
    with django_assert_num_queries(2):  # type: ignore[operator]
        block(item_issues(item))
