import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.factories import DeliveryFactory, an_issue

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("ada", is_staff=True))
    return client


def test_issues_are_listed_without_their_letters(staff: Client) -> None:
    issue = an_issue()
    an_issue()
    (row,) = staff.get(f"/api/v1/issues/?subscribable={issue.subscribable.name}").json()["results"]
    assert (row["id"], row["title"], row["subscribable"]) == (issue.pk, issue.title, issue.subscribable.name)
    assert not {"html", "text", "token", "holes"} & set(row)


def test_deliveries_have_the_words_of_the_commands_and_tell_no_link(staff: Client) -> None:
    failed = DeliveryFactory(state="failed", attempts=3, last_error="550 no")
    DeliveryFactory(kind="confirmation", context={"confirm_url": "https://x.test/hush/"})
    answer = staff.get("/api/v1/deliveries/?state=failed")
    (row,) = answer.json()["results"]
    assert (row["id"], row["issue"], row["destination"]) == (
        failed.pk,
        failed.issue.pk,
        failed.destination.label,
    )
    assert (row["state"], row["attempts"], row["last_error"]) == ("failed", 3, "550 no")
    assert b"hush" not in staff.get("/api/v1/deliveries/").content


def test_a_list_takes_as_many_queries_for_ten_as_for_one(
    staff: Client, django_assert_max_num_queries: object
) -> None:
    DeliveryFactory.create_batch(10)
    with django_assert_max_num_queries(5):  # type: ignore[operator]
        staff.get("/api/v1/deliveries/")
