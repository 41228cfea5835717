"""Mail scanners fetch every link of every mail, by GET and HEAD, repeatedly: nothing may change.

The mails are made by the real services and sent by the sender. A template without a mail here fails the test,
so that no new mail is forgotten.
"""

import email
import email.policy
import html
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import Resolver404, resolve

from common.clock import utcnow
from common.ports.hooks import site_mail
from delivery.alerts.messages import tell_admins
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.letters.password_resets import ask_for_reset
from delivery.letters.trial import send_test_email
from delivery.models import Delivery, Issue, MailboxMessage
from feedletter_site.team.people import invite as invite_colleague
from reader.people.invitations import invite
from subscriptions import links
from subscriptions.models import Notice, Subscribable, Subscription
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.address_change import ask_for_change, confirm_change
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_in import ask_for_link
from subscriptions.subscribers.sign_up import confirm_subscriptions, sign_up
from tests.delivery.collecting import a_newsletter, collect
from tests.factories import NOW, FeedFactory, SubscribableFactory, SubscriptionFactory

NEEDS_APP = "reader"
pytestmark = pytest.mark.django_db(transaction=True)
TEMPLATES = Path(django_settings.BASE_DIR) / "templates" / "letters"
HOUR = timedelta(hours=1)
# Has no link of ours: it only shows that mail arrives.
LINKLESS = {"test", "leave_request"}


def letters(count: int, **facts: Any) -> list[Subscribable]:
    return [SubscribableFactory(**facts) for _ in range(count)]


def ask(newsletters: list[Subscribable], who: str) -> None:
    sign_up(subscribables=newsletters, email=who, name="", origin=Origin(), now=utcnow())


def confirmation(who: str) -> None:
    ask(letters(1), who)


def confirm_several(who: str) -> None:
    ask(letters(3), who)


def already(who: str) -> None:
    ask([SubscriptionFactory(destination__core=who).subscribable], who)


def already_several(who: str) -> None:
    first = SubscriptionFactory(destination__core=who)
    second = SubscriptionFactory(destination=first.destination)
    ask([first.subscribable, second.subscribable], who)


def welcome(who: str) -> None:
    ask(letters(1, welcome=Subscribable.Welcome.WORDS), who)
    notice = Notice.objects.get(destination__core=who)
    confirm_subscriptions(token=notice.context["confirm_url"].rstrip("/").rpartition("/")[2], now=utcnow())
    notice.delete()


def farewell(who: str) -> None:
    row = SubscriptionFactory(destination__core=who, subscribable__farewell_mail=True)
    leave(subscription=row, now=utcnow(), by_reader=True)


def new_address(who: str) -> None:
    reader = SubscriptionFactory(destination__core="before.it@example.org").destination
    ask_for_change(reader=reader, email=who, ip="", now=utcnow())


def address_changed(who: str) -> None:
    reader = SubscriptionFactory(destination__core=who).destination
    ask_for_change(reader=reader, email="after.it@example.org", ip="", now=utcnow())
    notice = Notice.objects.get(template="new_address")
    confirm_change(token=notice.context["change_url"].rstrip("/").rpartition("/")[2], now=utcnow())
    notice.delete()


def sign_in(who: str) -> None:
    SubscriptionFactory(destination__core=who)
    ask_for_link(email=who, ip="", now=utcnow())


def alert(who: str) -> None:
    User.objects.create_superuser("ada", who, "x")
    since = {"failing_since": utcnow() - 30 * HOUR, "last_polled_at": utcnow() - HOUR}
    FeedFactory(failures=9, next_poll_at=utcnow() + HOUR, last_error="HTTP 500.", **since)
    tell_admins(now=utcnow())


def password_reset(who: str) -> None:
    User.objects.create_user("grace", who, "x", is_staff=True)
    ask_for_reset(email=who, ip="192.0.2.1", now=utcnow())


def invitation(who: str) -> None:
    _, link = invite(name="eve", now=utcnow())
    site_mail().send(
        address=who, template="invitation", context={"invitation_url": link, "days": 7}, now=utcnow()
    )


def team_invitation(who: str) -> None:
    invite_colleague(email=who, role="editor", newsletters=None, now=utcnow())


def leave_request(who: str) -> None:
    context = {"subject": "unsubscribe", "address": "read+abc@bounces.example.org"}
    site_mail().send(address=who, template="leave_request", context=context, now=utcnow())


def a_test(who: str) -> None:
    send_test_email(to=who, now=utcnow())


MAILS: dict[str, Callable[[str], None]] = {
    "address_changed": address_changed,
    "already": already,
    "already_several": already_several,
    "alert": alert,
    "confirm_several": confirm_several,
    "confirmation": confirmation,
    "farewell": farewell,
    "invitation": invitation,
    "leave_request": leave_request,
    "new_address": new_address,
    "password_reset": password_reset,
    "sign_in": sign_in,
    "team_invitation": team_invitation,
    "test": a_test,
    "welcome": welcome,
}


def names(folder: str) -> set[str]:
    return {path.stem for path in (TEMPLATES / folder).iterdir()}


@pytest.fixture
def mails(settings: Any) -> dict[str, EmailMessage]:
    """Return one sent mail per template, by name; issues by “issue ” and theirs."""
    settings.EMAIL_URL, settings.EMBEDDED = "mailbox:", True
    for name in sorted(names("mails")):
        assert name in MAILS, f"There is a mail “{name}” that this test does not know how to make."
        MAILS[name](f"{name}@example.org")
    for name in sorted(names("issues")):
        arrangement = "every_n" if name == "digest" else "each"
        newsletter = a_newsletter(arrangement, readers=1, template=name, n=1 if name == "digest" else None)
        collect(newsletter)
    complete_due(clock=lambda: NOW + HOUR)
    send_due(clock=utcnow)
    return dict(sent())


def sent() -> Iterator[tuple[str, EmailMessage]]:
    rows = MailboxMessage.objects.select_related("delivery__issue__subscribable").order_by("pk")
    for row in rows:
        message = email.message_from_bytes(bytes(row.raw), policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        issue = row.delivery.issue
        yield (f"issue {issue.subscribable.template}" if issue else row.delivery.template), message


def links_of(message: EmailMessage) -> set[str]:
    """Return all our URLs in a mail's headers and both its parts."""
    headers = " ".join(str(value) for value in message.values())
    parts = [part.get_content() for part in message.walk() if part.get_content_maintype() == "text"]
    return ours(" ".join([headers, *parts]))


def ours(text: str) -> set[str]:
    found = re.findall(rf"{re.escape(django_settings.SITE_URL)}[^\s\"'<>\])]*", html.unescape(text))
    return {url.rstrip(".,;:") for url in found}


def path_of(url: str) -> str:
    return url.removeprefix(django_settings.SITE_URL).partition("#")[0] or "/"


def linked(page: str) -> set[str]:
    """Return the targets of a page's links."""
    paths = set(re.findall(r'(?:href|src|action)="(/[^"#]*)"', html.unescape(page)))
    return paths | {path_of(url) for url in ours(page)}


def one_of_each(paths: set[str]) -> set[str]:
    """Return one URL of each view."""
    views: dict[str, str] = {}
    for path in sorted(paths):
        with suppress(Resolver404):
            views.setdefault(resolve(path.partition("?")[0]).view_name, path)
    return set(views.values())


def everything() -> dict[str, list[str]]:
    """Return every row of every table."""
    with connection.cursor() as cursor:
        dump = {}
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            dump[table] = sorted(map(repr, cursor.fetchall()))
    return dump


def scan(paths: set[str]) -> set[str]:
    """Fetch pages as scanners do, without cookies. Returns where the pages lead."""
    client, further = Client(), set[str]()
    for path in sorted(paths):
        for _ in range(2):
            for method in ("get", "head"):
                answer = getattr(client, method)(path, headers={"host": "127.0.0.1"})
                assert answer.status_code in (200, 302), path
                assert not client.cookies, f"{path} leaves a cookie"
                if "text/html" in answer.get("Content-Type", "") and method == "get":
                    further |= linked(answer.content.decode())
    return further


@pytest.mark.slow
def test_a_mail_of_every_template_is_made_and_sent(mails: dict[str, EmailMessage]) -> None:
    expected = names("mails") | {f"issue {name}" for name in names("issues")}
    assert set(mails) == expected
    assert set(Delivery.objects.values_list("state", flat=True)) == {"stored"}
    assert {name for name, mail in mails.items() if not links_of(mail)} <= LINKLESS
    assert Issue.objects.exclude(published_at=None).count() == len(names("issues"))


def test_what_readers_need_is_among_the_links(mails: dict[str, EmailMessage]) -> None:
    kinds = {
        name: {path_of(url).split("/")[1] for url in links_of(mail)} - {"", "s"}
        for name, mail in mails.items()
    }
    assert kinds["confirmation"] == kinds["confirm_several"] == {"confirm"}
    assert kinds["sign_in"] == {"sign-in"}
    assert (kinds["new_address"], kinds["address_changed"]) == ({"new-address"}, {"old-address"})
    assert {"manage", "unsubscribe"} <= kinds["issue post"]
    one_click = str(mails["issue post"]["List-Unsubscribe"])
    assert one_click.startswith(f"<{django_settings.SITE_URL}/unsubscribe/")


@pytest.mark.slow
def test_fetching_every_link_of_every_mail_twice_by_get_and_head_changes_nothing(
    mails: dict[str, EmailMessage],
) -> None:
    paths = {path_of(url) for mail in mails.values() for url in links_of(mail)}
    # Django's own page stores the link's token in a session, so that no Referer contains it.
    (reset,) = {path for path in paths if path.startswith("/account/password-reset/")}
    # Their forms sign somebody in, so they have a cookie against CSRF.
    (invited,) = {path for path in paths if path.startswith("/reader/invitation/")}
    (joining,) = {path for path in paths if path.startswith("/join/")}
    paths -= {reset, invited, joining}
    before = everything()
    assert [Client().get(each).status_code for each in (invited, invited, joining, joining)] == [200] * 4
    further = scan(paths)
    assert everything() == before
    assert len(paths) > 20
    # Some scanners follow the links of these pages.
    scan(one_of_each(further - paths))
    assert everything() == before
    before_reset = User.objects.get(username="grace").password
    assert [Client().get(reset).status_code for _ in range(2)] == [302, 302]
    assert User.objects.get(username="grace").password == before_reset


@pytest.mark.slow
def test_the_test_would_notice_a_change(mails: dict[str, EmailMessage]) -> None:
    """The same links POSTed to, as people do: most change something."""
    before = everything()
    row = Subscription.objects.filter(status="confirmed").first()
    assert row is not None
    Client().post(path_of(links.unsubscribe_url(row)), {"List-Unsubscribe": "One-Click"})
    assert everything() != before
