"""The limits of sign-up mails, over all newsletters, addresses and web processes."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connections

from common import rates
from common.models import Tally
from common.rates import CROWD_TIMES, HOUR, OverLimit, forget_rows
from subscriptions.models import Consent, Destination, Notice, Subscription
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers.antispam import count_refusals
from subscriptions.subscribers.sign_up import sign_up
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory, SuppressionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_limits(settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "ip=3/hour, ip=5/day, address=4/day, newsletter=1000/hour, domain=1000/hour"


def addresses(domain: str = "example.org") -> Iterator[str]:
    return (f"reader{number}@{domain}" for number in range(1000))


def ask(*subscribables: Any, email: str, ip: str = "203.0.113.7", **facts: Any) -> None:
    usual = {"name": "", "origin": Origin(ip=ip), "now": NOW}
    sign_up(**{"subscribables": subscribables, "email": email, **usual, **facts})


def test_one_reader_causes_so_many_mails_in_an_hour_and_in_a_day() -> None:
    letter, fresh = SubscribableFactory(), addresses()
    for minutes in range(0, 24 * 60, 10):
        ask(letter, email=next(fresh), now=NOW + timedelta(minutes=minutes))
        if minutes == 60:
            assert Notice.objects.count() == 3
    assert Notice.objects.count() == 5
    ask(letter, email=next(fresh), now=NOW + timedelta(hours=28))
    assert Notice.objects.count() == 6


def test_what_is_over_a_limit_leaves_nothing_behind() -> None:
    letter, fresh = SubscribableFactory(), addresses()
    for _ in range(10):
        ask(letter, email=next(fresh))
    assert Subscription.objects.count() == Destination.objects.count() == Consent.objects.count() == 3


def test_a_64_is_one_reader() -> None:
    letter, fresh = SubscribableFactory(), addresses()
    for number in range(10):
        ask(letter, email=next(fresh), ip=f"2001:db8:1:2::{number:x}")
    assert Notice.objects.count() == 3
    ask(letter, email=next(fresh), ip="2001:db8:1:3::1")
    assert Notice.objects.count() == 4


def test_many_64s_of_one_customer_are_a_few_readers() -> None:
    letter, fresh = SubscribableFactory(), addresses()
    for number in range(20):
        ask(letter, email=next(fresh), ip=f"2001:db8:1:{number:x}::1")
    assert Notice.objects.count() == 6
    for number in range(20):
        ask(letter, email=next(fresh), ip=f"2001:db8:1:{number:x}00::1")
    assert Notice.objects.count() == 12


def test_one_mailbox_by_all_its_spellings_is_written_to_so_often() -> None:
    letter = SubscribableFactory()
    for number in range(20):
        dotted = f"a{'.' * (number % 2)}da+{number}@example.org"
        ask(letter, email=dotted, ip=f"203.0.113.{number}")
    assert Notice.objects.count() == 4


def test_one_address_is_written_to_so_often_whatever_the_newsletter_and_whoever_asks() -> None:
    for number in range(10):
        ask(SubscribableFactory(), email="Ada@example.org", ip=f"203.0.113.{number}")
    assert Notice.objects.count() == 4


def test_one_newsletter_asks_so_many_to_confirm(settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "newsletter=3/hour"
    busy, other, fresh = SubscribableFactory(), SubscribableFactory(), addresses()
    for number in range(6):
        ask(busy, email=next(fresh), ip=f"203.0.113.{number}")
    assert Notice.objects.count() == 3
    ask(other, email=next(fresh))
    assert Notice.objects.count() == 4


def test_one_domain_is_written_to_so_often(settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "domain=3/hour"
    letter, fresh = SubscribableFactory(), addresses("small.example")
    for number in range(6):
        ask(letter, email=next(fresh), ip=f"203.0.113.{number}")
    assert Notice.objects.count() == 3


def test_what_causes_no_mail_takes_nothing_from_a_limit() -> None:
    letter = SubscribableFactory()
    for number in range(10):
        SuppressionFactory(core=f"gone{number}@example.org")
        ask(letter, email=f"gone{number}@example.org")
    assert not Tally.objects.exists()
    for _ in range(10):
        ask(letter, email="ada@example.org")
    for email in ("bea@example.org", "cleo@example.org"):
        ask(letter, email=email)
    assert Notice.objects.count() == 3


def test_the_word_that_it_is_subscribed_already_counts_too() -> None:
    there = [SubscriptionFactory() for _ in range(6)]
    for each in there:
        ask(each.subscribable, email=each.destination.core)
    assert Notice.objects.count() == 3


@pytest.mark.parametrize("ip", ["", "unknown", "172.18.0.2", "::ffff:10.0.0.1", "fd00::1", "fe80::1%eth0"])
def test_an_address_that_is_nearby_may_be_many_readers_and_is_refused_openly(settings: Any, ip: str) -> None:
    settings.SIGN_UP_LIMITS = "ip=1/hour"
    letter, fresh = SubscribableFactory(), addresses()
    for _ in range(CROWD_TIMES):
        ask(letter, email=next(fresh), ip=ip)
    with pytest.raises(OverLimit) as over:
        ask(letter, email=next(fresh), ip=ip)
    assert Notice.objects.count() == CROWD_TIMES
    assert count_refusals(letter, now=NOW) == {"proxy": 1}
    # In slices of ten minutes.
    assert HOUR < over.value.seconds_left(NOW) <= HOUR + 600
    ask(letter, email=next(fresh), ip=ip, now=NOW + timedelta(seconds=over.value.seconds_left(NOW)))


def test_the_visitor_that_an_undeclared_proxy_names_is_limited_within_the_total_of_all() -> None:
    letter, fresh = SubscribableFactory(), addresses()

    def sign_ups_of(claimed: str) -> int:
        before = Notice.objects.count()
        for _ in range(4):
            with suppress(OverLimit):
                ask(letter, email=next(fresh), origin=Origin(ip="172.18.0.2", claimed=claimed))
        return Notice.objects.count() - before

    assert [sign_ups_of(f"203.0.113.{number}") for number in range(2)] == [3, 3]
    for number in range(2, 100):
        sign_ups_of(f"203.0.113.{number}")
    assert Notice.objects.count() == 3 * CROWD_TIMES
    # Not the limits of these addresses themselves.
    ask(letter, email=next(fresh), ip="203.0.113.1")
    assert Notice.objects.count() == 3 * CROWD_TIMES + 1
    assert not Consent.objects.exclude(ip=None).exists()


def test_a_websites_server_is_told_that_it_is_over_the_limit() -> None:
    letter, fresh = SubscribableFactory(), addresses()
    origin = Origin(How.API, ip="203.0.113.7")
    for _ in range(3):
        ask(letter, email=next(fresh), origin=origin)
    with pytest.raises(OverLimit):
        ask(letter, email=next(fresh), origin=origin)


def test_who_was_turned_away_is_counted_for_the_admin_by_newsletter() -> None:
    letter, other, fresh = SubscribableFactory(), SubscribableFactory(), addresses()
    for _ in range(7):
        ask(letter, email=next(fresh))
    assert count_refusals(letter, now=NOW) == {"ip": 4}
    assert count_refusals(other, now=NOW) == {}
    assert count_refusals(letter, now=NOW + timedelta(days=2)) == {}


def test_no_address_of_a_person_stands_in_the_counts() -> None:
    # A digest cannot contain a part of the address by chance: it has only a to f.
    ask(SubscribableFactory(), email="zoe@example.org")
    stored = str(list(Tally.objects.values_list("scope", "key")))
    assert "zoe" not in stored
    assert "203.0.113" not in stored


def test_counts_are_forgotten_when_no_limit_looks_at_them() -> None:
    ask(SubscribableFactory(), email="ada@example.org")
    assert forget_rows(now=NOW + timedelta(days=1)) == 0
    assert forget_rows(now=NOW + timedelta(days=3)) > 0
    assert not Tally.objects.exists()


def test_counts_are_forgotten_in_batches(
    monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(rates, "FORGOTTEN_AT_ONCE", 2)
    for number in range(5):
        Tally.objects.create(scope="ip", key=str(number), began_at=NOW)
    with django_assert_max_num_queries(3):
        assert forget_rows(now=NOW + timedelta(days=3)) == 5
    assert not Tally.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_web_processes_at_once_keep_one_limit() -> None:
    letter, start = SubscribableFactory(), Barrier(8, timeout=10)
    errors: list[Exception] = []

    def act(number: int) -> None:
        try:
            start.wait()
            for turn in range(2):
                ask(letter, email=f"reader{number}-{turn}@example.org")
        except Exception as error:  # noqa: BLE001
            errors.append(error)
        finally:
            connections.close_all()

    threads = [Thread(target=act, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert Notice.objects.count() == 3
