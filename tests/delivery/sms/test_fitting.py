"""Text messages have the allowed parts, in GSM characters if possible, and keep the link whole.

Mails other than issues, shortened for SMS.
"""

import re
import unicodedata
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Message
from channels.http.links import normalised, sms_measure, sms_parts
from channels.letter import Letter, Recipient
from channels.sms.channel import SmsChannel
from channels.sms.message import LONGEST_TEXT, TextMessage, is_simple, sms_text
from common.clock import utcnow
from common.ports.channels import InvalidDestination
from delivery.models import Delivery
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable
from subscriptions.subscribers.admin_changes import subscribe
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_up import confirm_subscriptions
from tests.contracts.bridge import LINK, entry, letter
from tests.delivery.sms.texting import NUMBER, SITE, bodies, go_out
from tests.servers.services.twilio import Twilio

CHANNEL, KIND = SmsChannel(), SmsChannel()
READER = Recipient(7, "+4915123456789", "+49 1512 3456789")
OWN = "https://letters.example/s/bees/archive/7/"
LINKS = st.from_regex(r"\Ahttps?://[a-z]{1,20}\.example/[\x21-\x7e€é🐝]{0,200}\Z") | st.just(LINK)
TITLES = st.text(max_size=400) | st.sampled_from(
    [
        "€" * 200,
        "🐝" * 200,
        "👩‍👩‍👧" * 90,
        "Ж" * 300,
        "[]{}~^|\\" * 40,
        "\x00\ud800" * 50,
        "é̂" * 100,
        "…" * 300,
    ]
)


def text(of: Letter | None = None, **options: str) -> Message[TextMessage]:
    made: Message[TextMessage] = CHANNEL.compose(of or letter("Bees", options=options), READER)
    return made


def of_title(title: str, *, link: str = LINK, **fields: Any) -> Letter:
    return letter(title, entries=(entry(title, link=link),), **fields)


def test_a_message_is_who_it_is_from_the_title_and_the_link() -> None:
    assert text().body.text == f"Bees: Bees {LINK}"
    assert text().config == {"number": READER.core, "delivery": "7"}


def test_what_type_setters_write_is_put_in_cheap_letters() -> None:
    said = text(of_title("“Très” – l’été à Łódź… 5 × 3 → 15 🐝"))
    assert said.body.text == f'Bees: "Très" - l\'été à Lodz... 5 x 3 -> 15 {LINK}'
    assert is_simple(said.body.text)


def test_another_script_stays_as_it_is_and_is_shorter() -> None:
    said = text(of_title("Пчёлы и шмели летом в саду " * 5))
    assert "Пчёлы" in said.body.text
    assert not is_simple(said.body.text)
    assert sms_parts(said.body.text) == 1
    assert said.body.text.endswith(LINK)


def test_letters_may_stay_as_they_are_written() -> None:
    said = text(of_title("“Été” 🐝", options={"letters": "all"}))
    assert "“Été” 🐝" in said.body.text


def test_nothing_turns_the_direction_or_hides() -> None:
    said = text(of_title("a\u202eb\u200f\u2066c\u00ad\ufeffd\x07\x1b[31m"))
    assert said.body.text == f"Bees: abcd[31m {LINK}"


def test_a_link_that_leaves_no_room_gives_way_to_the_issues_own_page() -> None:
    long = "https://blog.example/" + "x" * 140
    said = text(of_title("On bees and how they live", link=long, web_url=OWN))
    assert said.body.text.endswith(OWN)
    assert long not in said.body.text
    # Without such a page, the title is cut.
    alone = text(of_title("On bees and how they live", link=long))
    assert alone.refusal or alone.body.text.endswith(long)


def test_a_link_that_fits_nowhere_is_explained() -> None:
    said = text(of_title("Bees", link="https://blog.example/" + "x" * 400))
    assert "more parts" in said.refusal
    wide = text(of_title("Bees", link="https://blog.example/" + "x" * 400, options={"parts": "4"}))
    assert sms_parts(wide.body.text) == 3


def test_parts_may_be_more() -> None:
    title = "Wörter " * 100
    assert sms_parts(text(of_title(title, options={"parts": "3"})).body.text) == 3


def test_a_digest_says_its_title_and_leads_to_its_page() -> None:
    posts = tuple(entry(f"T{n}", link=f"https://blog.example/{n}") for n in range(3))
    said = text(letter("T0, and 2 more", entries=posts, is_digest=True, web_url=OWN))
    assert said.body.text == f"Bees: T0, and 2 more {OWN}"


@pytest.mark.parametrize(
    ("said", "parts", "units", "room"),
    [
        ("a" * 160, 1, 160, 160), ("a" * 161, 2, 161, 153), ("€" * 80, 1, 160, 160),
        ("€" * 81, 2, 162, 153), ("a" * 152 + "€" + "a" * 152, 3, 306, 153),
        ("a" * 152 + "€" + "a" * 153, 3, 307, 153), ("ж" * 70, 1, 70, 70), ("ж" * 71, 2, 71, 67),
        ("🐝" * 35, 1, 70, 70), ("ж" * 66 + "🐝" + "ж" * 66, 3, 134, 67), ("", 1, 0, 160),
    ],
)  # fmt: skip
def test_parts_are_counted_as_networks_count_them(said: str, parts: int, units: int, room: int) -> None:
    """No character of two units is split between two parts."""
    assert sms_measure(said) == (parts, units, room)


@given(TITLES, LINKS, st.sampled_from(["", "1", "2", "5"]), st.sampled_from(["", "all"]))
def test_any_title_and_link_take_the_parts_allowed_and_the_link_stays_whole(
    title: str, link: str, parts: str, letters: str
) -> None:
    options = {name: value for name, value in (("parts", parts), ("letters", letters)) if value}
    said = text(of_title(title, link=link, web_url=OWN, options=options))
    if said.refusal:
        return
    assert sms_parts(said.body.text) <= int(parts or 1)
    assert len(said.body.text) <= LONGEST_TEXT
    end = said.body.text.rsplit(" ", 1)[-1]
    assert end == OWN or normalised(end) == end
    assert end.startswith("http")
    hidden = [one for one in said.body.text if unicodedata.category(one) in ("Cc", "Cs") and one != "\n"]
    assert not hidden
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", said.body.text)


@given(st.text(max_size=300))
def test_a_text_in_cheap_letters_stays_as_it_is(said: str) -> None:
    once = sms_text(said)
    assert sms_text(once) == once


class TestDestinations:
    def test_a_number_is_known_in_one_way(self) -> None:
        made = KIND.parse_destination({"phone": " 0151 / 234 567 89 ", "region": "DE"})
        assert (made.core, made.label) == ("+4915123456789", "+49 1512 3456789")
        assert KIND.parse_destination({"phone": "+49 (0)151-23456789"}).core == made.core

    @pytest.mark.parametrize(
        "typed", ["", "abc", "+49", "+49 30 901820", "+1 900 555 1234", "+49 151 2345 ext. 5"]
    )
    def test_what_takes_no_messages_is_refused(self, typed: str) -> None:
        with pytest.raises(InvalidDestination):
            KIND.parse_destination({"phone": typed, "region": "DE"})


class TestOptions:
    def test_they_are_kept_tidy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(KIND, "option_fields", KIND.option_fields[1:])
        given = {"region": "de", "countries": "de, at  CH at", "parts": "03"}
        assert KIND.parse_options(given) == {"region": "DE", "countries": "DE AT CH", "parts": "3"}

    @pytest.mark.parametrize(
        "given",
        [{"region": "Germany"}, {"countries": "DE XX"}, {"parts": "11"}, {"parts": "0"}, {"letters": "x"}],
    )
    def test_a_wrong_one_is_refused_by_its_name(
        self, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
    ) -> None:
        monkeypatch.setattr(KIND, "option_fields", KIND.option_fields[1:])
        with pytest.raises(InvalidDestination, match=next(iter(given))):
            KIND.parse_options(given)


@pytest.mark.django_db(transaction=True)
def test_an_admin_has_somebody_confirm_by_a_link_and_they_are_welcomed_and_let_go(
    newsletter: Subscribable, twilio: Twilio
) -> None:
    letter = alter_subscribable(subscribable=newsletter, welcome="words", farewell_mail=True, title="Bees")
    now = utcnow()
    reader = subscribe(subscribable=letter, data={"phone": NUMBER}, now=now, confirmed=False, language="de")
    go_out()
    [asked] = bodies(twilio)
    assert asked.startswith(f"Um Bees per SMS zu erhalten, öffnen Sie {SITE}/confirm/")
    assert sms_parts(asked) <= 3
    confirm_subscriptions(token=asked.rstrip("/").rpartition("/")[2], now=now)
    go_out()
    welcome = bodies(twilio)[1]
    assert "STOP" in welcome
    assert f"{SITE}/manage/" in welcome
    reader.refresh_from_db()
    leave(subscription=reader, now=now + timedelta(minutes=1), by_reader=True)
    go_out()
    assert bodies(twilio)[2] == "Sie erhalten Bees nicht mehr unter dieser Nummer."
    assert set(Delivery.objects.values_list("state", flat=True)) == {"sent"}


@pytest.mark.parametrize(
    "title", ["Пчёлы и шмели", "Пчёлы и шмели летом и зимой в нашем саду " * 4, "B" * 200]
)
@pytest.mark.django_db(transaction=True)
def test_a_title_of_any_letters_and_length_is_named(
    newsletter: Subscribable, twilio: Twilio, title: str
) -> None:
    letter = alter_subscribable(subscribable=newsletter, title=title[:200].strip())
    subscribe(subscribable=letter, data={"phone": NUMBER}, now=utcnow(), confirmed=False)
    go_out()
    [asked] = bodies(twilio)
    assert title[:5] in asked
    assert asked.endswith("/")
    assert sms_parts(asked) <= 4
