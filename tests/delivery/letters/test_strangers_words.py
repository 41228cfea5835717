"""Anyone can send anyone a confirmation, but cannot choose any of its text."""

import re
from typing import Any

import pytest

from delivery.letters.build import mail_letter
from delivery.letters.notices import take_notices
from delivery.models import Delivery
from subscriptions.models import Subscription
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.sign_up import confirm_subscriptions, sign_up
from tests.factories import NOW, SubscribableFactory

pytestmark = pytest.mark.django_db
WORDS = "Win 1000 at https://spam.example <b>now</b> %ToEmail% {{ secret }}"
ADDRESSES = ["buy-pills.at-spam.example@example.org", "Win-1000-now@example.org", "gewinne@bücher.example"]


def letters(email: str, count: int, **facts: Any) -> list[Any]:
    usual = {"name": WORDS, "origin": Origin(ip="203.0.113.7", words=WORDS), "now": NOW, "language": "en"}
    newsletters = SubscribableFactory.create_batch(count)
    sign_up(**{"subscribables": newsletters, "email": email, **usual, **facts})
    take_notices(now=NOW)
    return [mail_letter(row, now=NOW) for row in Delivery.objects.all()]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("email", ADDRESSES)
def test_a_confirmation_holds_no_text_that_a_stranger_chose(email: str, count: int) -> None:
    (letter,) = letters(email, count)
    said = re.sub(r"https?://\S+/confirm/\S+", "", letter.subject + letter.html + letter.text)
    for word in ("spam", "Win", "1000", "secret", "%ToEmail%", *email.split("@")):
        assert word.lower() not in said.lower(), word
    assert letter.from_email == "Letters <letters@sender.example>"
    assert letter.params == {}


@pytest.mark.parametrize("language", ["en\r\nBcc: x@y.example", "<script>", "x" * 5000, "zz"])
def test_a_language_that_is_none_changes_nothing(language: str) -> None:
    (letter,) = letters("ada@example.org", 1, language=language)
    assert "<script" not in letter.html
    assert "Confirm your subscription" in letter.subject


def test_the_link_itself_holds_keys_and_no_words() -> None:
    (letter,) = letters("ada@example.org", 2)
    token = re.findall(r"/confirm/(\S+)/", letter.text)[0]
    assert len(confirm_subscriptions(token=token, now=NOW)) == 2
    assert set(Subscription.objects.values_list("status", flat=True)) == {"confirmed"}
