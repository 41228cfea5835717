"""Every factory makes a row that satisfies all constraints of the database."""

import pytest

from tests import factories
from tests.factories import Factory

ALL = sorted(
    (
        value
        for value in vars(factories).values()
        if isinstance(value, type) and issubclass(value, Factory) and value is not Factory
    ),
    key=lambda factory: factory.__name__,
)


@pytest.mark.django_db
@pytest.mark.parametrize("factory", ALL)
def test_every_factory_makes_two_rows(factory: type[Factory]) -> None:
    first, second = factory(), factory()
    assert first.pk
    assert second.pk


@pytest.mark.django_db
def test_a_delivery_of_another_kind_has_a_key_and_no_issue() -> None:
    delivery = factories.DeliveryFactory(kind="confirmation")
    assert delivery.issue is None
    assert delivery.key
    assert delivery.template == "confirmation"


@pytest.mark.django_db
def test_a_cleared_item_has_no_entry() -> None:
    assert factories.ItemFactory(state="cleared").entry is None
    assert factories.ItemFactory(state="excluded").entry is None
    assert factories.ItemFactory(state="assigned", final_at=factories.NOW).entry["title"]


@pytest.mark.django_db
def test_an_issue_has_its_posts_in_order() -> None:
    issue = factories.an_issue(posts=3)
    assert [item.position for item in issue.issue_items.all()] == [0, 1, 2]
