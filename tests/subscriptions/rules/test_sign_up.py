"""The effect of a sign-up: pure.

Upstream's proofs, compared to independently computed values (openssl dgst -sha3-256).
The proof of work that a browser computes: pure.
“Did you mean gmail.com?”: near misses of well-known providers, and nothing else.
Where a mailbox is read on the web.
Days and weeks of a list's growth.
"""

import unicodedata
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.origin import GrowthStretch, by_day, by_week, first_monday, totals
from subscriptions.rules.sign_up import (
    _PLACES,
    LARGEST_ID,
    PARTS,
    PROVIDERS,
    SignUpReply,
    Suffix,
    answer,
    invitation,
    is_invited,
    is_solution,
    may_write,
    meant,
    solve,
    tidy_name,
    webmail_of,
)

TODAYS = st.dates(min_value=date(2001, 1, 1), max_value=date(2100, 1, 1))
SOLVED = solve("a challenge")
# printf '\0\0\0\0\0\0\0\052pepperRemoveSuffix' | openssl dgst -sha3-256
REMOVE_42 = "772dd210dfd3c250a421edfc417d374823bebd596033a90f8fdc5b7f2f355607"
CONFIRM_42 = "c02f9dd9e38685b7b670cf65ff41b254744504626abe8162f8ae1722067f756e"
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("", SignUpReply.CONFIRM),
        ("unconfirmed", SignUpReply.CONFIRM),
        ("unsubscribed", SignUpReply.CONFIRM),
        ("confirmed", SignUpReply.ALREADY),
    ],
)
def test_each_standing_has_its_answer(status: str, expected: SignUpReply) -> None:
    assert answer(status, earlier=[], now=NOW) is expected


def test_one_mail_in_five_minutes() -> None:
    assert not may_write(earlier=[NOW - timedelta(minutes=4, seconds=59)], now=NOW)
    assert may_write(earlier=[NOW - timedelta(minutes=5)], now=NOW)


def test_five_mails_in_a_day() -> None:
    five = [NOW - timedelta(hours=hours) for hours in (1, 2, 3, 4, 5)]
    assert not may_write(earlier=five, now=NOW)
    assert may_write(earlier=five[:4], now=NOW)
    assert may_write(earlier=five, now=NOW + timedelta(hours=19))


@given(st.lists(st.integers(min_value=0, max_value=3 * 86400), max_size=200))
def test_however_often_it_is_asked_the_limits_hold(seconds: list[int]) -> None:
    written: list[datetime] = []
    for moment in sorted(NOW + timedelta(seconds=second) for second in seconds):
        if answer("", earlier=written, now=moment) is SignUpReply.CONFIRM:
            written.append(moment)
    for moment in written:
        assert sum(moment <= other < moment + timedelta(days=1) for other in written) <= 5
        assert not any(moment < other < moment + timedelta(minutes=5) for other in written)


@given(st.text())
def test_a_name_is_one_short_line_without_controls(name: str) -> None:
    tidy = tidy_name(name)
    assert len(tidy) <= 100
    assert tidy == tidy.strip()
    assert not [char for char in tidy if unicodedata.category(char)[0] == "C"]
    assert tidy_name(tidy) == tidy


def test_a_name_keeps_its_letters() -> None:
    assert tidy_name("  Ada \r\n Bcc: x@y.example\tLovelace ") == "Ada Bcc: x@y.example Lovelace"
    assert tidy_name("Łucja O’Hara-Ωμέγα") == "Łucja O’Hara-Ωμέγα"
    assert tidy_name("a" * 5000) == "a" * 100


def test_an_invitation_is_the_one_upstream_writes() -> None:
    assert invitation(42, salt="pepper", suffix=Suffix.REMOVE) == REMOVE_42
    assert invitation(42, salt="pepper", suffix=Suffix.CONFIRM) == CONFIRM_42


def test_it_proves_its_own_link_and_no_other() -> None:
    assert is_invited(42, REMOVE_42, salt="pepper", suffix=Suffix.REMOVE)
    assert is_invited(42, REMOVE_42.upper(), salt="pepper", suffix=Suffix.REMOVE)
    assert not is_invited(43, REMOVE_42, salt="pepper", suffix=Suffix.REMOVE)
    assert not is_invited(42, REMOVE_42, salt="salt", suffix=Suffix.REMOVE)
    assert not is_invited(42, REMOVE_42, salt="pepper", suffix=Suffix.CONFIRM)


@pytest.mark.parametrize("given", ["", "0", REMOVE_42[:-1], REMOVE_42 + "0", "é" * 64])
def test_what_is_no_invitation_proves_nothing(given: str) -> None:
    assert not is_invited(42, given, salt="pepper", suffix=Suffix.REMOVE)


def test_without_a_salt_nothing_is_proven() -> None:
    made = invitation(42, salt="", suffix=Suffix.REMOVE)
    assert not is_invited(42, made, salt="", suffix=Suffix.REMOVE)


def test_every_id_of_upstream_has_one() -> None:
    assert len(invitation(LARGEST_ID, salt="pepper", suffix=Suffix.CONFIRM)) == 64


def test_a_solution_fits_its_challenge_and_no_other() -> None:
    assert is_solution("a challenge", SOLVED)
    assert not is_solution("another challenge", SOLVED)


def test_every_part_has_to_be_solved() -> None:
    numbers = SOLVED.split(",")
    assert not is_solution("a challenge", ",".join(numbers[:-1]))
    assert not is_solution("a challenge", ",".join([*numbers, "1"]))
    assert not is_solution("a challenge", ",".join([numbers[0]] * PARTS))


@pytest.mark.parametrize("said", ["", ",,,,,,,", "-1,-1,-1,-1,-1,-1,-1,-1", "٣,٣,٣,٣,٣,٣,٣,٣", "1" * 10_000])
def test_what_is_no_solution_is_none(said: str) -> None:
    assert not is_solution("a challenge", said)


@given(st.text(max_size=40), st.text(max_size=80))
def test_any_text_may_be_given(challenge: str, numbers: str) -> None:
    assert isinstance(is_solution(challenge.encode(errors="replace").decode(), numbers), bool)


@pytest.mark.parametrize(
    "domain",
    [
        *(
            "gmial.com",
            "gmal.com",
            "gmaill.com",
            "gnail.com",
            "gamil.com",
            "GMAIL.CON",
            "gmail.co",
            "gmai.com",
        ),
        *("gmail.co", "gmial.con", "gmail.com."),
    ],
)
def test_slips_of_gmail_are_known(domain: str) -> None:
    expected = "" if domain == "gmail.com." else "Ada@gmail.com"
    assert meant(f"Ada@{domain}") == expected


@pytest.mark.parametrize(
    ("domain", "right"),
    [
        ("hotmial.fr", "hotmail.fr"),
        ("yaho.co.uk", "yahoo.co.uk"),
        ("outlok.de", "outlook.de"),
        ("iclod.com", "icloud.com"),
        ("t-onlin.de", "t-online.de"),
        ("protn.me", "proton.me"),
    ],
)
def test_so_are_those_of_others(domain: str, right: str) -> None:
    assert meant(f"ada@{domain}") == f"ada@{right}"


@pytest.mark.parametrize(
    "domain",
    [
        *(
            "example.org",
            "mail.com",
            "email.com",
            "ymail.com",
            "yahoo.ca",
            "yahoo.ie",
            "outlook.it",
            "gmx.de",
        ),
        *("gmx.de", "gmail.example", "gm.com", "mailbox.com", "me.com", "", "x", "gmail"),
        *(f"{name}.{rest}" for name, rests in PROVIDERS.items() for rest in rests),
    ],
)
def test_nobody_elses_domain_is_doubted(domain: str) -> None:
    assert meant(f"ada@{domain}") == ""


def test_every_provider_is_one_that_people_read_mail_at() -> None:
    known = [f"{name}.{rest}" for name, rests in PROVIDERS.items() for rest in rests]
    assert [each for each in known if webmail_of(f"a@{each}") is None] == []


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("ada@gmail.com", "Gmail"),
        ("Ada <ada@GMX.de>", "GMX"),
        ("ada@hotmail.co.uk", "Outlook"),
        ("ada@example.org", ""),
        ("ada@notgmail.com", ""),
        ("nothing", ""),
    ],
)
def test_the_place_is_that_of_the_domain(address: str, name: str) -> None:
    found = webmail_of(address)
    assert (found["name"] if found else "") == name


def test_all_places_are_encrypted_and_no_domain_is_in_two() -> None:
    domains = [domain for _, _, listed in _PLACES for domain in listed.split()]
    assert len(domains) == len(set(domains))
    assert all(url.startswith("https://") for _, url, _ in _PLACES)


@given(TODAYS, st.lists(st.integers(0, 380), max_size=40))
def test_every_day_of_the_year_is_in_one_week(today: date, backs: list[int]) -> None:
    days = Counter(today - timedelta(days=back) for back in backs)
    weeks = by_week({"left": days}, today=today, count=53)
    inside = sum(count for day, count in days.items() if day >= first_monday(today, 53))
    assert totals(weeks).left == inside
    assert {week.start.weekday() for week in weeks} == {0}
    assert weeks[-1].start <= today < weeks[-1].start + timedelta(days=7)


@given(TODAYS)
def test_days_without_anything_are_there_too(today: date) -> None:
    days = by_day({"new": {today: 3}}, today=today, count=84)
    assert (len(days), days[-1]) == (84, GrowthStretch(today, new=3))
    assert days[0] == GrowthStretch(today - timedelta(days=83))
