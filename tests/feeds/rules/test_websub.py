"""Hubs: offers, next steps, and trust."""

import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.rules import websub
from feeds.rules.websub import Offer, hub_is_live, is_expected, is_signed, lease_of, next_act, offer

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
FEED = "https://blog.example.org/feed.xml"
HUB = "https://hub.example.org/"


class TestOffer:
    def test_a_document_offers_its_hub_and_its_self_link(self) -> None:
        assert offer([], [HUB], "https://blog.example.org/self", address=FEED) == Offer(
            HUB, "https://blog.example.org/self"
        )

    def test_without_a_self_link_the_topic_is_where_it_came_from(self) -> None:
        assert offer([], [HUB], "", address=FEED) == Offer(HUB, FEED)

    def test_link_headers_win_over_the_document(self) -> None:
        links = [("hub", "https://other.example/"), ("self", "/canonical"), ("next", "/2")]
        assert offer(links, [HUB], FEED, address=FEED) == Offer(
            "https://other.example/", "https://blog.example.org/canonical"
        )

    def test_a_header_that_names_only_one_of_them_leaves_the_other_to_the_document(self) -> None:
        assert offer([("self", "/canonical")], [HUB], FEED, address=FEED) == Offer(
            HUB, "https://blog.example.org/canonical"
        )

    def test_a_hub_that_speaks_https_is_favoured_else_the_first_is_taken(self) -> None:
        assert offer([], ["http://a.example/", HUB], "", address=FEED) == Offer(HUB, FEED)
        assert offer([], ["http://a.example/", "http://b.example/"], "", address=FEED) == Offer(
            "http://a.example/", FEED
        )

    def test_a_topic_is_kept_letter_by_letter(self) -> None:
        odd = "https://Blog.example.org/feed?#"
        assert offer([], [HUB], odd, address=FEED) == Offer(HUB, odd)

    @pytest.mark.parametrize(
        "hub",
        [
            "ftp://hub.example.org/",
            "javascript:alert(1)",
            "http://[bad",
            "https://user:password@hub.example.org/",
            "https://hub.example.org/\x00",
            "https://hub.example.org/" + "x" * 2000,
            "https:///nowhere",
        ],
    )
    def test_what_is_no_address_of_the_web_is_passed_over(self, hub: str) -> None:
        assert offer([], [hub], "", address=FEED) is None
        assert offer([], [hub, HUB], "", address=FEED) == Offer(HUB, FEED)
        assert offer([], [HUB], hub, address=FEED) is None

    def test_no_hub_is_no_offer(self) -> None:
        assert offer([("self", FEED)], [], FEED, address=FEED) is None


class TestTiming:
    def test_a_lease_is_what_the_hub_grants_within_bounds(self) -> None:
        assert lease_of("3600") == timedelta(hours=1)
        assert lease_of("1") == timedelta(minutes=1)
        assert lease_of("999999999999999999999") == timedelta(days=90)

    @pytest.mark.parametrize("text", ["", "-5", "1e9", "٣", "forever", "1.5"])
    def test_a_lease_that_is_no_number_is_ten_days(self, text: str) -> None:
        assert lease_of(text) == timedelta(days=10)

    @pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
    def test_renewal_comes_well_before_the_end(self, chance: float) -> None:
        lease = timedelta(days=10)
        at = websub.renew_at(NOW, lease, chance=chance)
        assert timedelta(days=7.5) <= at - NOW < timedelta(days=8.5)

    def test_a_hub_that_took_the_request_has_an_hour_to_verify_and_then_ever_longer(self) -> None:
        waits = [websub.ask_again_at(NOW, tries, taken=True, chance=0.5) - NOW for tries in (1, 2, 3, 50)]
        assert waits == [timedelta(hours=hours) for hours in (1, 2, 4, 24)]
        assert websub.ask_again_at(NOW, 1, taken=True, chance=0) - NOW == timedelta(hours=1)

    def test_a_hub_that_refuses_is_asked_ever_less_but_once_a_day(self) -> None:
        waits = [websub.ask_again_at(NOW, tries, taken=False, chance=0.5) - NOW for tries in (1, 2, 3, 50)]
        assert waits == [timedelta(minutes=minutes) for minutes in (5, 10, 20, 24 * 60)]

    def test_leaving_is_tried_three_times_and_subscribing_for_ever(self) -> None:
        assert [next_act("leaving", tries) for tries in range(5)] == ["unsubscribe"] * 3 + ["forget"] * 2
        for state in ("wanted", "pending", "active", "denied"):
            assert next_act(state, 100) == "subscribe"

    def test_a_feed_that_names_another_hub_at_each_reading_is_followed_once_an_hour(self) -> None:
        assert not websub.may_change(NOW, NOW + timedelta(minutes=59))
        assert websub.may_change(NOW, NOW + timedelta(hours=1))


class TestMessages:
    @pytest.mark.parametrize(
        ("mode", "states"),
        [
            ("subscribe", {"pending"}),
            ("unsubscribe", {"leaving"}),
            ("denied", {"pending", "active", "leaving"}),
            ("publish", set()),
            ("", set()),
        ],
    )
    def test_a_hub_may_say_only_what_fits_what_we_asked(self, mode: str, states: set[str]) -> None:
        every = ("wanted", "pending", "active", "denied", "leaving")
        assert {state for state in every if is_expected(mode, state)} == states


class TestSignatures:
    @pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
    def test_the_four_registered_methods_are_known(self, method: str) -> None:
        right = hmac.new(b"secret", b"body", method).hexdigest()
        assert is_signed(f"{method}={right}", b"body", "secret")
        assert is_signed(f"{method.upper()}={right.upper()}", b"body", "secret")
        assert not is_signed(f"{method}={right}", b"Body", "secret")
        assert not is_signed(f"{method}={right}", b"body", "Secret")
        assert not is_signed(f"{method}={right[:-2]}", b"body", "secret")

    @pytest.mark.parametrize("header", ["", "sha256", "sha256=", "=", "sha256=ü", "sha256=\ud800"])
    def test_none_or_half_a_signature_is_wrong(self, header: str) -> None:
        assert not is_signed(header, b"body", "secret")

    @pytest.mark.parametrize("method", ["md5", "sha224", "sha3_256", "blake2b"])
    def test_other_methods_are_not_taken(self, method: str) -> None:
        right = hmac.new(b"secret", b"body", method).hexdigest()
        assert not is_signed(f"{method}={right}", b"body", "secret")

    def test_without_a_secret_nothing_is_signed(self) -> None:
        assert not is_signed("sha256=" + hmac.new(b"", b"body", "sha256").hexdigest(), b"body", "")

    @given(st.text(max_size=200), st.binary(max_size=50))
    def test_no_header_raises_and_none_but_the_right_one_passes(self, header: str, body: bytes) -> None:
        right = hmac.new(b"secret", body, hashlib.sha256).hexdigest()
        assert is_signed(header, body, "secret") is (header.strip().lower() == f"sha256={right}")


class TestLiveness:
    LATER = NOW + timedelta(days=1)

    def test_a_verified_hub_is_live_until_its_lease_ends(self) -> None:
        assert hub_is_live("active", self.LATER, 0, NOW)
        assert not hub_is_live("active", NOW, 0, NOW)

    def test_a_renewal_under_way_does_not_interrupt_it(self) -> None:
        assert hub_is_live("pending", self.LATER, 0, NOW)
        assert not hub_is_live("pending", None, 0, NOW)

    @pytest.mark.parametrize("state", ["wanted", "denied", "leaving"])
    def test_others_are_not(self, state: str) -> None:
        assert not hub_is_live(state, self.LATER, 0, NOW)

    def test_one_missed_post_may_be_a_slow_push_two_are_silence(self) -> None:
        assert [hub_is_live("active", self.LATER, missed, NOW) for missed in (0, 1, 2, 3)] == [
            True,
            True,
            False,
            False,
        ]
