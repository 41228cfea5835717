import pytest
from django.test import Client
from django.urls import reverse

from common.admin.html import block
from delivery.panels import item_issues
from tests.factories import DeliveryFactory, IssueFactory, IssueItemFactory, ItemFactory, an_issue

pytestmark = pytest.mark.django_db


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
