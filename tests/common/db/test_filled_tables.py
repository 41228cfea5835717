"""After many writes, PostgreSQL's statistics are updated at once."""

import pytest
from django.db import connection, transaction

from common.db import bulk
from common.db.bulk import vacuum_analyze
from delivery.issues.publish import publish
from delivery.models import Delivery, Issue
from subscriptions.lists.uploads import begin_import
from subscriptions.lists.worker import work_off_imports
from subscriptions.models import Destination, Subscription
from tests.factories import NOW, IssueFactory, LaneFactory, SubscribableFactory, SubscriptionFactory
from tests.subscriptions.lists.test_uploads import LONG, checked

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL's statistics")
    monkeypatch.setattr(bulk, "MANY", 3)


def known_rows(table: str) -> int:
    """Return the planner's estimate of rows; -1 if it has none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [table])
        return int(cursor.fetchone()[0])


@pytest.mark.usefixtures("few_are_many")
def test_the_planner_knows_of_an_issue_as_soon_as_it_is_published() -> None:
    newsletter = SubscribableFactory()
    LaneFactory()
    SubscriptionFactory.create_batch(7, subscribable=newsletter)
    publish(issue_id=IssueFactory(subscribable=newsletter, published_at=None).pk, now=NOW)
    assert known_rows(Delivery._meta.db_table) == 7


@pytest.mark.usefixtures("commits")
@pytest.mark.usefixtures("few_are_many")
def test_the_planner_knows_of_a_list_as_soon_as_it_is_taken_over() -> None:
    row = checked("email\n" + "".join(f"reader{number}@example.org\n" for number in range(9)))
    begin_import(row, now=NOW)
    work_off_imports(budget=LONG)
    assert Subscription.objects.count() == 9
    assert known_rows(Destination._meta.db_table) == 9


@pytest.mark.usefixtures("commits")
@pytest.mark.usefixtures("few_are_many")
def test_what_cannot_be_done_is_left_to_autovacuum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_OPTIONS", "NONSENSE")
    vacuum_analyze(Issue, rows=3)
    assert Issue.objects.count() == 0


@pytest.mark.django_db
def test_little_is_not_worth_it() -> None:
    with transaction.atomic():
        vacuum_analyze(Delivery, rows=bulk.MANY - 1)
