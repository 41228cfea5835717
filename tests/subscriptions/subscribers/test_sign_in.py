"""Sign-in links: recipients, limits, and single use."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.ports.channels import InvalidDestination
from common.rates import OverLimit
from subscriptions.models import Notice, SignIn, SignInRequest
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.sign_in import (
    GOOD_FOR,
    SpentSignInLink,
    ask_for_link,
    destination_of_link,
    digest_of,
    forget_links,
    mail_links,
    use_link,
)
from subscriptions.subscribers.sign_up import sign_up
from tests.factories import (
    NOW,
    DestinationFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)
from tests.races import beside

pytestmark = pytest.mark.django_db
A_MINUTE, A_DAY = timedelta(minutes=1), timedelta(days=1)


def ask(email: str = "ada@example.org", *, now: datetime = NOW, ip: str = "192.0.2.1", **more: Any) -> None:
    """Request a link, and run the worker."""
    ask_for_link(email=email, ip=ip, now=now, **more)
    mail_links(now=now)


def token_of(notice: Notice) -> str:
    return str(notice.context["sign_in_url"]).rstrip("/").rpartition("/")[2]


@pytest.fixture
def token() -> str:
    """Return the token of a link that was just mailed to ada@example.org."""
    SubscriptionFactory(destination=DestinationFactory(core="ada@example.org"))
    ask()
    return token_of(Notice.objects.get())


def test_a_known_address_gets_one_mail_about_one_thing(settings: Any) -> None:
    settings.SITE_URL, settings.SITE_HOST = "https://letters.example", "letters.example"
    reader = DestinationFactory(core="ada@example.org")
    ask("Ada Who Chose This <ADA@example.org>")
    notice = Notice.objects.get()
    assert (notice.kind, notice.template, notice.destination, notice.subscription) == (
        "sign_in", "sign_in", reader, None,
    )  # fmt: skip
    assert notice.context["sign_in_url"].startswith("https://letters.example/sign-in/")
    assert "Chose" not in str(notice.context)


def test_an_unknown_address_gets_nothing_and_leaves_nothing() -> None:
    ask("nobody@example.org")
    assert not Notice.objects.exists()
    assert not SignIn.objects.exists()
    assert not SignInRequest.objects.exists()


def test_asking_asks_the_database_the_same_whether_the_address_is_known_or_not() -> None:
    """So it takes the same time, however busy the server is."""
    DestinationFactory(core="known@example.org")
    SuppressionFactory(core="gone@example.org")
    asked = []
    for who in ("known", "nobody", "gone"):
        with CaptureQueriesContext(connection) as queries:
            ask_for_link(email=f"{who}@example.org", ip="192.0.2.1", now=NOW)
        # Without the numbers of savepoints and counts.
        asked.append([re.split(r"VALUES|SAVEPOINT|WHERE|'", query["sql"])[0] for query in queries])
    assert asked[0] == asked[1] == asked[2]
    assert not [statement for statement in asked[0] if "destination" in statement]


def test_wishes_wait_for_a_worker_and_are_over_after_a_day() -> None:
    for who in ("ada", "bea"):
        DestinationFactory(core=f"{who}@example.org")
    ask_for_link(email="ada@example.org", ip="192.0.2.1", now=NOW - A_DAY)
    ask_for_link(email="bea@example.org", ip="192.0.2.1", now=NOW - A_DAY + A_MINUTE)
    assert mail_links(now=NOW) == 2
    link = SignIn.objects.get()
    assert link.destination.core == "bea@example.org"
    assert link.expires_at == NOW + GOOD_FOR
    assert not SignInRequest.objects.exists()


@pytest.mark.parametrize("why", ["suppressed", "disabled", "erased"])
def test_where_nothing_may_be_sent_nothing_is(why: str) -> None:
    facts = {"disabled": {"disabled_at": NOW}, "erased": {"erased_at": NOW}}.get(why, {})
    DestinationFactory(core="ada@example.org", **facts)
    if why == "suppressed":
        SuppressionFactory(core="ada@example.org")
    ask()
    assert not Notice.objects.exists()


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(InvalidDestination, match="an email address"):
        ask("nonsense")


def test_only_a_digest_of_the_link_is_kept(token: str) -> None:
    link = SignIn.objects.get()
    assert (link.digest, link.expires_at) == (digest_of(token), NOW + GOOD_FOR)
    assert token not in str(vars(link))


def test_the_mail_speaks_the_language_of_the_newest_subscription_that_has_one() -> None:
    reader = DestinationFactory(core="ada@example.org")
    SubscriptionFactory(destination=reader, language="fr", added_at=NOW - 2 * A_DAY)
    SubscriptionFactory(destination=reader, language="de", added_at=NOW - A_DAY)
    SubscriptionFactory(destination=reader, language="", added_at=NOW)
    ask(language="es")
    assert Notice.objects.get().language == "de"


def test_it_speaks_the_browsers_where_no_subscription_says_which() -> None:
    SubscriptionFactory(destination=DestinationFactory(core="ada@example.org"))
    ask(language="es")
    assert Notice.objects.get().language == "es"


def test_nobody_is_mailed_more_often_than_every_five_minutes() -> None:
    DestinationFactory(core="ada@example.org")
    for minutes in (0, 1, 4, 5, 6):
        ask(now=NOW + minutes * A_MINUTE)
    assert Notice.objects.count() == 2


def test_one_network_causes_five_mails_a_day_and_keeps_nobody_else_out() -> None:
    DestinationFactory(core="ada@example.org")
    for hours in range(9):
        ask(now=NOW + timedelta(hours=hours))
    assert Notice.objects.count() == 5
    ask(now=NOW + timedelta(hours=9), ip="203.0.113.9")
    assert Notice.objects.count() == 6


def test_all_networks_together_cause_as_many_as_an_address_may_get_while_a_link_is_good() -> None:
    DestinationFactory(core="ada@example.org")
    for number in range(25):
        ask(now=NOW + number * 5 * A_MINUTE, ip=f"192.0.2.{number}")
    # One in each half hour, which is not counted, keeps the reader from being locked out.
    assert Notice.objects.count() == 10 + 3


def test_strangers_who_use_up_the_limit_of_an_address_keep_no_reader_out() -> None:
    DestinationFactory(core="ada@example.org")
    for number in range(25):
        ask(now=NOW + number * 5 * A_MINUTE, ip=f"192.0.2.{number}")
    now = NOW + 150 * A_MINUTE
    ask(now=now, ip="203.0.113.9")
    assert destination_of_link(token=token_of(Notice.objects.latest("pk")), now=now)
    mails = Notice.objects.count()
    use_link(token=token_of(Notice.objects.latest("pk")), now=now)
    ask(now=now + 6 * A_MINUTE, ip="203.0.113.9")
    assert Notice.objects.count() == mails + 1


def test_one_network_of_ipv6_causes_four_times_as_many_at_most() -> None:
    DestinationFactory(core="ada@example.org")
    for number in range(30):
        ask(now=NOW + number * 31 * A_MINUTE, ip=f"2001:db8:1:{number:x}00::1")
    assert Notice.objects.count() == 20


def test_a_stranger_who_asks_often_keeps_no_reader_out() -> None:
    DestinationFactory(core="ada@example.org")
    for number in range(10):
        ask(now=NOW + number * timedelta(seconds=1))
    assert Notice.objects.count() == 1
    ask(now=NOW + 10 * A_MINUTE, ip="203.0.113.9")
    assert Notice.objects.count() == 2


def test_sign_ups_for_an_address_keep_nobody_from_signing_in() -> None:
    DestinationFactory(core="ada@example.org")
    for number, letter in enumerate(SubscribableFactory.create_batch(12)):
        origin = Origin(ip=f"192.0.2.{number}")
        sign_up(subscribables=[letter], email="ada@example.org", name="", origin=origin, now=NOW)
    assert Notice.objects.count() == 10
    ask(ip="203.0.113.9")
    assert Notice.objects.filter(kind="sign_in").count() == 1


@pytest.mark.parametrize("known", [True, False])
def test_many_requests_of_one_connection_are_refused_whether_the_addresses_are_known_or_not(
    known: bool, settings: Any
) -> None:
    settings.SIGN_UP_LIMITS = "ip=3/hour"
    emails = [f"reader{number}@example.org" for number in range(4)]
    for email in emails if known else ():
        DestinationFactory(core=email)
    for email in emails[:3]:
        ask(email)
    with pytest.raises(OverLimit, match="ip"):
        ask(emails[3])
    ask(emails[3], ip="192.0.2.2")
    assert Notice.objects.count() == (4 if known else 0)


def test_many_requests_for_one_address_are_not_told(settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "address=3/day"
    DestinationFactory(core="ada@example.org")
    for number in range(6):
        ask("ADA@example.org", ip=f"192.0.2.{number}", now=NOW + number * 5 * A_MINUTE)
    assert Notice.objects.count() == 1 + 3


def test_looking_at_a_link_does_not_spend_it(token: str) -> None:
    for _ in range(2):
        assert destination_of_link(token=token, now=NOW).core == "ada@example.org"
    assert use_link(token=token, now=NOW).core == "ada@example.org"


@pytest.mark.parametrize("act", [destination_of_link, use_link])
def test_a_link_works_once(token: str, act: Callable[..., object]) -> None:
    use_link(token=token, now=NOW)
    with pytest.raises(SpentSignInLink, match="already been used"):
        act(token=token, now=NOW + A_MINUTE)


@pytest.mark.parametrize("act", [destination_of_link, use_link])
def test_a_link_works_for_half_an_hour(token: str, act: Callable[..., object]) -> None:
    with pytest.raises(SpentSignInLink, match="worked for 30 minutes"):
        act(token=token, now=NOW + GOOD_FOR)
    assert act(token=token, now=NOW + GOOD_FOR - timedelta(seconds=1))


@pytest.mark.parametrize("wrong", ["", "x", "é" * 40, "a" * 5000])
def test_what_is_no_link_lets_nobody_in(token: str, wrong: str) -> None:
    for act in (destination_of_link, use_link):
        with pytest.raises(SpentSignInLink, match="incomplete"):
            act(token=wrong, now=NOW)
    assert SignIn.objects.get().used_at is None


def test_two_links_are_each_good() -> None:
    """A person who asks again because the first mail was slow may use either link."""
    DestinationFactory(core="ada@example.org")
    ask()
    ask(now=NOW + 5 * A_MINUTE)
    for notice in Notice.objects.order_by("pk"):
        assert use_link(token=token_of(notice), now=NOW + 6 * A_MINUTE)


def test_old_links_are_forgotten_but_not_while_they_count(token: str) -> None:
    assert forget_links(now=NOW + A_DAY) == 0
    assert forget_links(now=NOW + 2 * A_DAY + A_MINUTE) == 1
    assert not SignIn.objects.exists()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_a_link_at_the_same_moment_one_gets_in() -> None:
    DestinationFactory(core="ada@example.org")
    ask()
    token = token_of(Notice.objects.get())

    def second() -> str:
        try:
            use_link(token=token, now=NOW)
        except SpentSignInLink as error:
            return str(error)
        return "in"

    first, said = beside(lambda: use_link(token=token, now=NOW), second)
    assert first.core == "ada@example.org"
    assert "already been used" in said


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_two_who_ask_at_the_same_moment_cause_one_mail() -> None:
    DestinationFactory(core="ada@example.org")
    beside(ask, lambda: ask(ip="192.0.2.2"))
    assert Notice.objects.count() == 1
