"""Import and export of lists in the admin, including the report of refused lines."""

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from common.uploads import claim
from subscriptions.admin.list_import_panels import sentence_about_state
from subscriptions.lists.worker import work_off_imports
from subscriptions.models import Consent, ListImport, Notice, Subscription
from tests.factories import BridgeFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
IMPORT = "/admin/subscriptions/subscription/import/"
EXPORT = "/admin/subscriptions/subscription/export/"


def choose(client: Client, text: str, **data: Any) -> Any:
    newsletter = data.pop("newsletter", None) or SubscribableFactory()
    given = {"newsletter": newsletter.pk, "status": "unconfirmed", "words": "", **data}
    given["file"] = SimpleUploadedFile("list.csv", text.encode(), content_type="text/csv")
    return client.post(IMPORT, given)


def page(client: Client, row: ListImport) -> str:
    return client.get(reverse("admin:subscriptions_listimport_change", args=[row.pk])).content.decode()


def act(client: Client, row: ListImport, action: str, **data: str) -> str:
    given: dict[str, Any] = {"action": action, "_selected_action": [row.pk], "_on_page": str(row.pk), **data}
    answer = client.post(reverse("admin:subscriptions_listimport_changelist"), given, follow=True)
    return answer.content.decode()


def work() -> None:
    work_off_imports(budget=timedelta(minutes=1))


def test_a_column_that_may_name_blocked_people_is_explained_before_anything_is_taken_over(
    admin_client: Client,
) -> None:
    text = "Adresse,Ville,Désabonné\na@example.org,Lyon,oui\nb@example.org,Brest,\n"
    choose(admin_client, text.replace("Adresse", "Adresse e-mail"), status="confirmed")
    work()
    row = ListImport.objects.get()
    shown = page(admin_client, row)
    assert row.state == "asking"
    assert "Some columns may mark people who must not be emailed." in shown
    proposal = "“oui” (1), empty (1). Proposal: anyone with a value here has unsubscribed; 1 line would get"
    assert proposal in shown
    assert "not used (2 get the newsletter)" in shown
    listed = admin_client.get(reverse("admin:subscriptions_listimport_changelist")).content.decode()
    assert "to be added" not in listed
    assert "Import this list" not in shown
    assert "– please choose –" in shown
    answers = {"with-dates": "", "confirmed": "yes"}
    assert "This field is required" in act(admin_client, row, "columns", **answers)
    said = act(admin_client, row, "columns", **answers, **{"with-column-2": "unsubscribed"})
    assert "being read again" in said
    work()
    row.refresh_from_db()
    assert (row.state, row.added) == ("checked", 2)
    twice = {"with-column-0": "email", "with-column-1": "email", "with-column-2": "unsubscribed"}
    assert "Only one column can be the address" in act(admin_client, row, "columns", **answers, **twice)
    act(admin_client, row, "run")
    work()
    found = dict(Subscription.objects.values_list("destination__core", "status"))
    assert found == {"a@example.org": "unsubscribed", "b@example.org": "confirmed"}
    assert "2 subscribers of “list.csv” will be removed" in act(admin_client, row, "undo")
    assert "2 subscribers removed, 0 as they were" in act(admin_client, row, "undo", confirmed="1")
    assert not Subscription.objects.exists()
    assert "2 subscribers removed" in page(admin_client, row)


def test_an_import_that_harms_most_of_a_list_is_begun_only_by_a_second_word(admin_client: Client) -> None:
    choose(admin_client, "email\nnonsense\nno\na@example.org\n")
    work()
    row = ListImport.objects.get()
    shown = page(admin_client, row)
    assert "2 of 3 would be refused. If this is right, choose More, Import anyway." in shown
    act(admin_client, row, "run")
    assert ListImport.objects.get().state == "checked"
    assert "2 of 3 would be refused." in act(admin_client, row, "run_anyway")
    act(admin_client, row, "run_anyway", confirmed="1")
    assert ListImport.objects.get().state == "importing"


def test_what_a_program_means_stays_when_another_column_is_explained(admin_client: Client) -> None:
    choose(admin_client, "email,active_subscription,expiry,email_disabled\na@example.org,true,,true\n")
    work()
    row = ListImport.objects.get()
    asked = act(admin_client, row, "columns")
    assert "Detect automatically" in asked
    given = {"with-column-0": "email", "with-column-1": "ignore", "with-column-2": "ignore"}
    act(admin_client, row, "columns", **given, **{"with-column-3": "as it is", "confirmed": "yes"})
    work()
    act(admin_client, row, "run")
    work()
    assert Subscription.objects.get().status == "unsubscribed"


def test_the_page_shows_what_each_column_is_taken_for_and_three_values(admin_client: Client) -> None:
    lines = "".join(f"{name}@example.org,{name},12,{name.upper()}\n" for name in ("ada", "ben", "cat", "dan"))
    choose(admin_client, f"Email Address,First Name,City,E-mail opt-out\n{lines}")
    work()
    row = ListImport.objects.get()
    assert row.state == "asking"
    shown = page(admin_client, row)
    for words in ("the address", "the first name", "not used", "ada · ben · cat", "“ADA” (1), “BEN” (1)"):
        assert words in shown
    assert "dan@example.org" not in shown
    act(admin_client, row, "columns", **{"with-column-3": "ignore", "confirmed": "yes"})
    work()
    row.refresh_from_db()
    assert row.state == "checked"
    shown = page(admin_client, row)
    assert "Change columns" in shown
    assert "ADA · BEN · CAT" in shown
    act(admin_client, row, "run")
    work()
    assert "ADA · BEN · CAT" not in page(admin_client, row)


def test_from_the_file_to_the_report(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    head = "Email Address,First Name,OPTIN_TIME,CONFIRM_TIME"
    text = f"{head}\na@example.org,Ada,2024-01-01,2024-01-02\nno,=1+1,,2024-01-02\n"
    answer = choose(admin_client, text, newsletter=newsletter, status="confirmed", words="Double opt-in.")
    row = ListImport.objects.get()
    assert answer.url == reverse("admin:subscriptions_listimport_change", args=[row.pk])
    shown = page(admin_client, row)
    assert f'data-address="{reverse("admin:subscriptions_listimport_progress", args=[row.pk])}"' in shown
    assert "Import this list" not in shown
    work()
    shown = page(admin_client, row)
    assert "data-address" not in shown
    for words in (
        "1 will get the newsletter · 1 unreadable.",
        "Nothing has changed yet",
        "Mailchimp",
        "Will get the newsletter (new)",
        "an email address",
    ):
        assert words in shown
    assert not Subscription.objects.exists()
    assert "The import has started" in act(admin_client, row, "run")
    work()
    made = Subscription.objects.get()
    assert (made.status, made.display_name, made.subscribable) == ("confirmed", "Ada", newsletter)
    assert Consent.objects.get().words == "Double opt-in."
    assert not Notice.objects.exists()
    report = admin_client.get(reverse("admin:subscriptions_listimport_refused", args=[row.pk]))
    lines = list(csv.reader(io.StringIO(report.getvalue().decode("utf-8-sig"), newline="")))
    assert lines[0] == ["line", "reason", "Email Address", "First Name", "OPTIN_TIME", "CONFIRM_TIME"]
    assert (lines[1][0], lines[1][2:4]) == ("3", ["no", "'=1+1"])
    assert "Import this list" not in page(admin_client, row)


def test_the_page_asks_again_while_a_worker_is_at_it_and_says_when_none_is(admin_client: Client) -> None:
    choose(admin_client, "email\na@example.org\n")
    row = ListImport.objects.get()
    address = reverse("admin:subscriptions_listimport_progress", args=[row.pk])
    assert "It begins in a moment." in admin_client.get(address).content.decode()
    ListImport.objects.update(created_at=row.created_at - timedelta(minutes=5))
    assert "No worker has processed it" in admin_client.get(address).content.decode()


def test_a_list_that_waited_long_for_a_person_begins_in_a_moment(admin_client: Client) -> None:
    choose(admin_client, "email,Désabonné\na@example.org,oui\n")
    work()
    ListImport.objects.update(created_at=utcnow() - timedelta(days=3))
    row = ListImport.objects.get()
    meanings = {"with-column-1": "ignore", "with-dates": ""}
    act(admin_client, row, "columns", **meanings, confirmed="yes")
    assert "It begins in a moment." in page(admin_client, row)
    work()
    act(admin_client, row, "run")
    row.refresh_from_db()
    assert row.state == "importing"
    assert "It begins in a moment." in page(admin_client, row)
    ListImport.objects.update(lease_until=utcnow() - timedelta(minutes=5))
    assert "No worker has processed it" in page(admin_client, row)


def test_the_pace_counts_no_time_that_the_list_waited(admin_client: Client) -> None:
    choose(admin_client, "email\na@example.org\n")
    ListImport.objects.update(created_at=utcnow() - timedelta(days=3))
    began = utcnow()
    row = claim(ListImport, now=began)
    assert row is not None
    row.reading_since, row.lines, row.position = began, 5_000, row.size // 2
    said = sentence_about_state(row, began + timedelta(seconds=10))
    assert said.startswith("500 rows a second, about 10 seconds left")


def test_stopping_says_first_what_is_lost(admin_client: Client) -> None:
    choose(admin_client, "email\na@example.org\n")
    row = ListImport.objects.get()
    assert "Nothing was imported." in act(admin_client, row, "end")
    assert ListImport.objects.get().state == "checking"
    assert "Stopped" in act(admin_client, row, "end", confirmed="1")
    assert ListImport.objects.get().state == "stopped"


def test_a_second_word_is_refused_with_a_sentence(admin_client: Client) -> None:
    choose(admin_client, "email\na@example.org\n")
    row = ListImport.objects.get()
    assert "is being checked" in act(admin_client, row, "run")


@pytest.mark.parametrize("text", ["", "x" * 2000])
def test_a_file_that_is_empty_or_too_large_is_refused_at_its_field(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("common.admin.uploads.MOST_UPLOADED_BYTES", 1000)
    shown = choose(admin_client, text).content.decode()
    assert "The file is empty." in shown or "import_subscribers" in shown
    assert not ListImport.objects.exists()


def test_a_bridge_is_not_offered(admin_client: Client) -> None:
    bridge = BridgeFactory(title="To Mastodon")
    assert "To Mastodon" not in admin_client.get(IMPORT).content.decode()
    assert choose(admin_client, "email\na@example.org\n", newsletter=bridge).status_code == 200
    assert not ListImport.objects.exists()


def test_an_export_is_streamed_with_all_columns(admin_client: Client) -> None:
    one = SubscriptionFactory(display_name="=1+1")
    assert str(one.subscribable) in admin_client.get(EXPORT).content.decode()
    answer = admin_client.get(f"{EXPORT}?newsletter={one.subscribable_id}")
    assert answer.streaming
    assert re.fullmatch(
        rf'attachment; filename="{one.subscribable.name}-[\d-]+\.csv"', answer["Content-Disposition"]
    )
    (row,) = csv.DictReader(io.StringIO(answer.getvalue().decode("utf-8-sig"), newline=""))
    assert (row["email"], row["name"], row["status"]) == (one.destination.label, "'=1+1", "confirmed")


def test_the_newsletters_page_leads_to_both(admin_client: Client) -> None:
    one = SubscriptionFactory()
    url = reverse("admin:subscriptions_subscribable_change", args=[one.subscribable_id])
    shown = admin_client.get(f"{url}?tab=subscribers").content.decode()
    assert f"{IMPORT}?newsletter={one.subscribable_id}" in shown
    assert f"{EXPORT}?newsletter={one.subscribable_id}" in shown


def test_who_may_only_look_neither_imports_nor_decides(client: Client) -> None:
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__startswith="view_"))
    client.force_login(user)
    assert choose(client, "email\na@example.org\n").status_code == 403
    row = ListImport.objects.create(subscribable=SubscribableFactory(), file_name="x", state="checked")
    assert "Import this list" not in page(client, row)
    act(client, row, "run")
    assert ListImport.objects.get().state == "checked"
    user.user_permissions.clear()
    for url in ("progress", "refused"):
        answer = client.get(reverse(f"admin:subscriptions_listimport_{url}", args=[row.pk]))
        assert answer.status_code == 403
    assert client.get(EXPORT).status_code == 403
