"""The built-in mailbox: embedded mode only, staff only, and letters are harmless there."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags

from delivery.models import MailboxMessage
from delivery.views import mailbox
from subscriptions.models import Destination
from tests.factories import (
    NOW,
    DeliveryFactory,
    DestinationFactory,
    IssueFactory,
    MailboxMessageFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db

SEES = ("view_delivery", "view_subscription")
RAW = (
    b"From: letters@sender.example\r\nTo: ada@example.org\r\nSubject: A letter\r\n"
    b"Content-Type: multipart/alternative; boundary=b\r\n\r\n"
    b"--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nIn text: https://letters.example/confirm/abc/\r\n"
    b"--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<h1>In html</h1><script>1</script>\r\n--b--\r\n"
)


def paths_of(kept: Any) -> list[str]:
    issue = f"/mailbox/issue/{kept.delivery.issue_id}/"
    return ["/mailbox/", "/mailbox/?q=ada", issue, f"/mailbox/{kept.pk}/", f"/mailbox/{kept.pk}/html/"]


@pytest.fixture
def staff(client: Client, settings: Any) -> Client:
    settings.EMBEDDED = True
    settings.EMAIL_URL = "mailbox:"
    admin = get_user_model().objects.create_user("admin", is_staff=True)
    admin.user_permissions.set(Permission.objects.filter(codename__in=SEES))
    client.force_login(admin)
    return client


@pytest.mark.parametrize("lost", SEES)
def test_who_may_not_see_subscribers_and_deliveries_sees_no_letter(staff: Client, lost: str) -> None:
    kept = MailboxMessageFactory(raw=RAW)
    left = Permission.objects.filter(codename__in=SEES).exclude(codename=lost)
    get_user_model().objects.get().user_permissions.set(left)
    for path in paths_of(kept):
        answer = staff.get(path)
        assert answer.status_code == 403
        assert "ada@example.org" not in answer.content.decode()


def test_letters_are_listed_and_the_page_says_they_are_not_sent(staff: Client) -> None:
    MailboxMessageFactory(subject="First letter")
    page = staff.get("/mailbox/").content.decode()
    assert "First letter" in page
    assert "Emails are kept here, not sent." in page


def test_with_a_mail_server_it_does_not_say_that(staff: Client, settings: Any) -> None:
    settings.EMAIL_URL = "smtp://localhost"
    assert "not sent" not in staff.get("/mailbox/").content.decode()


def test_a_letter_shows_html_text_and_headers(staff: Client) -> None:
    kept = MailboxMessageFactory(raw=RAW)
    page = staff.get(f"/mailbox/{kept.pk}/").content.decode()
    assert f'src="/mailbox/{kept.pk}/html/"' in page
    assert 'href="https://letters.example/confirm/abc/"' in page
    assert "letters@sender.example" in page
    assert "<script>1" not in page


def test_the_html_of_a_letter_stands_in_a_sandbox(staff: Client) -> None:
    kept = MailboxMessageFactory(raw=RAW)
    answer = staff.get(f"/mailbox/{kept.pk}/html/")
    assert "<h1>In html</h1>" in answer.content.decode()
    policy = answer["Content-Security-Policy"]
    assert policy.startswith("sandbox ")
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert answer["X-Frame-Options"] == "SAMEORIGIN"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe\x00",
        b"Content-Type: text/html; charset=nonsense\r\n\r\n<p>x\xff</p>",
        b"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!",
        b"Subject: =?utf-8?q?=ff?=\r\nTo: <<<>>\r\nDate: never\r\n\r\nx",
    ],
)
def test_a_broken_message_is_shown_as_far_as_it_can_be_read(staff: Client, raw: bytes) -> None:
    kept = MailboxMessageFactory(raw=raw)
    assert staff.get(f"/mailbox/{kept.pk}/").status_code == 200
    assert staff.get(f"/mailbox/{kept.pk}/html/").status_code == 200


def test_nobody_else_sees_it(client: Client, settings: Any) -> None:
    settings.EMBEDDED = True
    kept = MailboxMessageFactory(raw=RAW)
    paths = paths_of(kept)
    assert {client.get(path).status_code for path in paths} == {302}
    client.force_login(get_user_model().objects.create_user("reader"))
    assert {client.get(path).status_code for path in paths} == {302}


def test_it_exists_only_where_the_program_runs_embedded(staff: Client, settings: Any) -> None:
    settings.EMBEDDED = False
    assert staff.get("/mailbox/").status_code == 404


def an_issue_to(*addresses: str, at: datetime = NOW, subject: str = "From the quay", **facts: Any) -> Any:
    """Return an issue that is kept for these people."""
    issue = IssueFactory(published_at=at, subject=subject, title=subject, **facts)
    for address in addresses:
        subscription = SubscriptionFactory(subscribable=issue.subscribable, destination=person(address))
        delivery = DeliveryFactory(state="stored", issue=issue, subscription=subscription)
        MailboxMessageFactory(delivery=delivery, subject=subject, stored_at=at, raw=RAW)
    return issue


def an_other(address: str, **facts: Any) -> Any:
    """Return an email without an issue."""
    return MailboxMessageFactory(
        delivery__kind="confirmation", delivery__subscription__destination=person(address), **facts
    )


def person(address: str) -> Any:
    return Destination.objects.filter(core=address).first() or DestinationFactory(core=address)


def rows_of(page: Any) -> list[tuple[str, str, str]]:
    """Return each row's subject, link and words below."""
    return [
        (plain(title), link, plain(about))
        for link, title, about in re.findall(
            r'<h2><a href="([^"]+)">(.*?)</a></h2>.*?<p class="meta">(.*?)</p>',
            page.content.decode(),
            re.DOTALL,
        )
    ]


def plain(html: str) -> str:
    return strip_tags(html).replace("&nbsp;", " ")


def test_an_issue_is_one_row_with_its_newsletter_sender_and_number_of_people(staff: Client) -> None:
    issue = an_issue_to("ada@example.org", "bo@example.org", subscribable__title="Harbour Notes")
    about = "Harbour Notes · from letters@sender.example · to 2 people"
    assert rows_of(staff.get("/mailbox/")) == [("From the quay", f"/mailbox/issue/{issue.pk}/", about)]


def test_an_issue_to_one_person_opens_as_the_email(staff: Client) -> None:
    an_issue_to("ada@example.org")
    [(_, link, about)] = rows_of(staff.get("/mailbox/"))
    assert link == f"/mailbox/{MailboxMessage.objects.get().pk}/"
    assert about.endswith("to ada@example.org")


def test_an_issue_lists_its_people_and_leads_to_their_emails(staff: Client) -> None:
    issue = an_issue_to("ada@example.org", "bo@example.org")
    an_issue_to("cy@example.org")
    page = staff.get(f"/mailbox/issue/{issue.pk}/").content.decode()
    for kept in MailboxMessage.objects.filter(delivery__issue=issue):
        assert f'<a href="/mailbox/{kept.pk}/">{kept.recipient}</a>' in page
        assert f'href="/mailbox/issue/{issue.pk}/"' in staff.get(f"/mailbox/{kept.pk}/").content.decode()
    assert "to 2 people" in page
    assert "letters@sender.example" in page
    assert "cy@example.org" not in page


def test_an_issue_without_kept_emails_has_no_page_and_no_row(staff: Client) -> None:
    issue = IssueFactory()
    DeliveryFactory(issue=issue, state="sent", sent_at=NOW)
    assert staff.get(f"/mailbox/issue/{issue.pk}/").status_code == 404
    assert rows_of(staff.get("/mailbox/")) == []


def test_emails_without_an_issue_are_rows_among_the_issues_newest_first(staff: Client) -> None:
    hours = [NOW - timedelta(hours=number) for number in range(4)]
    # Written before the old one, and approved after it.
    an_issue_to("ada@example.org", at=hours[1], subject="New issue")
    an_issue_to("ada@example.org", at=hours[3], subject="Old issue")
    an_other("bo@example.org", subject="Please confirm", stored_at=hours[2])
    an_other("ada@example.org", subject="Welcome", stored_at=hours[0])
    titles = [title for title, _, _ in rows_of(staff.get("/mailbox/"))]
    assert titles == ["Welcome", "New issue", "Please confirm", "Old issue"]


def test_times_are_as_people_say_them(staff: Client) -> None:
    now = timezone.localtime()
    an_other("bo@example.org", stored_at=now)
    an_issue_to("ada@example.org", at=now - timedelta(days=1))
    page = staff.get("/mailbox/").content.decode()
    assert f"{now.hour}:{now.minute:02}</time>" in page
    assert f"Yesterday {now.hour}:{now.minute:02}</time>" in page


@pytest.mark.parametrize("words", ["quay", "THE  quay", "qua", "quây", "the from"])
def test_words_of_a_subject_find_its_issue_as_one_row(staff: Client, words: str) -> None:
    issue = an_issue_to("ada@example.org", "bo@example.org")
    an_issue_to("ada@example.org", "bo@example.org", subject="Small repairs")
    [(_, link, _)] = rows_of(staff.get("/mailbox/", {"q": words}))
    assert link == f"/mailbox/issue/{issue.pk}/"


def test_the_name_of_a_newsletter_finds_its_issues_and_its_other_emails(staff: Client) -> None:
    an_issue_to("ada@example.org", subscribable__title="Harbour Notes")
    an_issue_to("ada@example.org", subscribable__title="Mountain Notes")
    an_other("ada@example.org", delivery__subscription__subscribable__title="Harbour Weekly")
    abouts = [about for _, _, about in rows_of(staff.get("/mailbox/", {"q": "harbour"}))]
    assert [about.partition(" · ")[0] for about in abouts] == ["Harbour Weekly", "Harbour Notes"]


@pytest.mark.parametrize("words", ["ada@example.org", "ADA@Example.org", "ada", "da@exam"])
def test_an_address_or_a_part_of_it_finds_the_persons_emails(staff: Client, words: str) -> None:
    an_issue_to("ada@example.org", "bo@example.org")
    an_issue_to("bo@example.org", subject="Small repairs")
    an_other("ada@example.org", subject="Please confirm", stored_at=NOW - timedelta(hours=1))
    of_ada = MailboxMessage.objects.filter(recipient="ada@example.org").order_by("-stored_at")
    links = [link for _, link, _ in rows_of(staff.get("/mailbox/", {"q": words}))]
    assert links == [f"/mailbox/{kept.pk}/" for kept in of_ada]
    assert len(links) == 2


def test_a_whole_address_is_found_among_many(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.admin.lists.SEARCHED", 2)
    an_issue_to("ada@example.org", *(f"reader{number}@example.org" for number in range(5)))
    assert len(rows_of(staff.get("/mailbox/", {"q": "ada@example.org"}))) == 1
    assert not rows_of(staff.get("/mailbox/", {"q": "da@example.org"}))


def test_where_many_addresses_match_it_asks_for_more_of_one(staff: Client) -> None:
    an_issue_to(*(f"reader{number}@example.org" for number in range(mailbox.MOST_PEOPLE_FOUND + 1)))
    page = staff.get("/mailbox/", {"q": "example.org"})
    assert rows_of(page) == []
    assert "Type more of an address" in page.content.decode()


def test_a_search_without_results_says_what_can_be_searched(staff: Client) -> None:
    an_issue_to("ada@example.org")
    page = staff.get("/mailbox/", {"q": "<nothing>"}).content.decode()
    assert (
        "No email matches “&lt;nothing&gt;”. Search for words of a subject, a newsletter, or an address"
        in page
    )
    assert '<a href="/mailbox/">All emails</a>' in page


def test_an_empty_mailbox_says_how_an_email_comes(staff: Client) -> None:
    page = staff.get("/mailbox/").content.decode()
    assert "No emails yet." in page
    assert 'role="search"' not in page


def test_the_last_page_says_that_older_emails_are_not_listed(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "MOST_LISTED", 2)
    for number in range(3):
        an_issue_to("ada@example.org", at=NOW + timedelta(hours=number), subject=f"Issue no. {number}")
    page = staff.get("/mailbox/")
    assert [title for title, _, _ in rows_of(page)] == ["Issue no. 2", "Issue no. 1"]
    assert "only the newest 2 issues and 2 other emails" in page.content.decode()


@pytest.mark.parametrize(
    "path", ["/mailbox/", "/mailbox/?q=reader", "/mailbox/?q=quay", "/mailbox/issue/{}/"]
)
def test_a_page_asks_as_many_queries_for_many_emails_as_for_few(
    staff: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "ROWS_ON_A_PAGE", 5)
    issue = an_issue_to("reader0@example.org", "reader1@example.org")
    an_other("reader2@example.org")
    asked = []
    for many in (0, 8):
        for number in range(many):
            an_issue_to("reader0@example.org", "reader1@example.org")
            an_other(f"reader{number}@y.example")
        with CaptureQueriesContext(connection) as queries:
            staff.get(path.format(issue.pk))
        asked.append(len(queries))
    assert asked[0] == asked[1] <= 15
