"""Words for a subscriber's status, in any spelling."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from subscriptions.rules.lists import statuses
from subscriptions.rules.lists.statuses import leaving_word, plain, sort_of, status_of_words, strictest
from subscriptions.rules.lists.survey import leaving_among

SAID = {
    "unsubscribed": [
        *("Unsubscribed", "UNSUBSCRIBED", " unsubscribed ", "Unsubscribed (user)", "un-subscribed", "unsub"),
        *("opted-out", "OptedOut", "opt out", "Opted_Out", "not subscribed", "no longer subscribed"),
        *("NEVER_SUBSCRIBED", "withdrawn", "consent revoked", "Cancelled", "deleted by user", "left"),
        *(
            "abgemeldet",
            "Abgemeldet am 3.4.",
            "abbestellt",
            "ausgetragen",
            "widerrufen",
            "gelöscht",
            "gekündigt",
        ),
        *("désinscrit", "DÉSINSCRITE", "de\u0301sabonne\u0301", "désabonné(e)", "non abonné", "résilié"),
        *("dado de baja", "baja", "desuscrito", "no suscrito", "cancelado"),
        *("descadastrado", "cancelou", "não inscrito", "removido"),
        *("disiscritto", "non iscritto", "uitgeschreven", "afgemeld", "avmeldt", "отписался"),
    ],
    "suppressed": [
        *(
            "bounced",
            "hard bounce",
            "Hard-Bounced",
            "soft_bounce",
            "HardBounce",
            "complained",
            "spam complaint",
        ),
        *("Marked as spam", "blocked", "banned", "blacklisted", "block-listed", "cleaned", "suppressed"),
        *("undeliverable", "do not email", "Do-not-contact", "don’t mail", "invalid"),
        *(
            "gesperrt",
            "unzustellbar",
            "blockiert",
            "Beschwerde",
            "rebond",
            "bloqué",
            "liste noire",
            "plainte",
        ),
        *("rebotado", "bloqueado", "lista negra", "devolvido", "rejeitado", "rimbalzato", "geblokkeerd"),
    ],
    "unconfirmed": [
        *("unconfirmed", "NOT CONFIRMED", "not-yet-confirmed", "notConfirmed", "pending", "Pending (opt-in)"),
        *("awaiting confirmation", "unverified", "inactive", "unbestätigt", "unbestaetigt", "ausstehend"),
        *("noch nicht bestätigt", "en attente", "non confirmé", "pas encore confirmé", "pendiente"),
        *("sin confirmar", "não confirmado", "pendente", "aguardando", "in attesa", "onbevestigd"),
    ],
}
CASES = [(text, status) for status, texts in SAID.items() for text in texts]


@pytest.mark.parametrize(("text", "status"), CASES)
def test_a_word_of_leaving_is_known_in_any_spelling(text: str, status: str) -> None:
    assert (leaving_word(text), status_of_words(text), sort_of(text)) == (status, status, status)


@pytest.mark.parametrize(("text", "status"), CASES)
def test_it_is_found_among_many_other_cells(text: str, status: str) -> None:
    cells = ["Lisbon", "", "Ada Lovelace <ada@example.org>", text, "12", "São Paulo"]
    assert leaving_among(cells) == {text: status}


@pytest.mark.parametrize(
    "text",
    [
        *("Lisbon", "Leftwich Street 4, which nobody left", "Baja California", "Bannister", "description"),
        *("fecha de registro", "active", "subscribed", "Subscriber since May", "confirmed", "yes", "no", "-"),
        *("unsubscribe@example.org", "resilient", "Spendings", "Notable", "Pasadena"),
    ],
)
def test_an_ordinary_cell_says_nothing(text: str) -> None:
    assert leaving_among([text]) == {}


@pytest.mark.parametrize(
    "text",
    [
        *("The reader unsubscribed by telephone last summer, says Bob", "{'status': 'unsubscribed'}"),
        *("tags=vip;unsubscribed", "blocked the road", "Ada (unsubscribed) <ada@example.org>"),
    ],
)
def test_a_strong_word_counts_anywhere_in_a_text(text: str) -> None:
    assert leaving_among([text])


def _patterns() -> list[str]:
    return [pattern.pattern for _, pattern in (*statuses._STRONG, *statuses._WEAK)]


@example("nietconfirm")
@given(st.one_of(*(st.from_regex(re.compile(each, re.ASCII), fullmatch=True) for each in _patterns())))
def test_no_word_is_overlooked_by_the_quick_look_at_many_cells(text: str) -> None:
    # Signs of one word only: plain text decides how a pattern may continue.
    text = plain(text)
    assert leaving_among(["Lisbon", text]) == ({text: leaving_word(text)} if leaving_word(text) else {})


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        *((text, "yes") for text in ("yes", "Y", "TRUE", "on", "x", "Ja", "oui", "Sí", "sim", "✓", " ☑ ")),
        *((text, "no") for text in ("no", "N", "False", "off", "Nein", "non", "NÃO", "none", "✗")),
        *((text, "nothing") for text in ("", " ", "-", "NULL", "n/a", "0000-00-00 00:00:00", "[]")),
        *((text, "day") for text in ("2024-01-02", "3/4/2024 10:00", "Jan 5, 2024", "1714557600")),
        *(("0", "zero"), ("1", "one"), ("7", "code"), ("U", "code"), ("17", "other"), ("Lisbon", "other")),
        *(
            (text, "confirmed")
            for text in ("Subscribed", "abonné", "suscrito", "aktiv", "Opt-in", "inscrito")
        ),
    ],
)
def test_cells_are_sorted_by_what_they_hold(text: str, sort: str) -> None:
    assert sort_of(text) == sort


def test_the_strictest_of_several_statuses_counts_and_a_word_that_is_none_confirms_nobody() -> None:
    assert strictest("confirmed", "suppressed", "unsubscribed") == "suppressed"
    assert strictest("", "confirmed") == "confirmed"
    assert strictest("maybe", "confirmed") == "maybe"
    assert strictest("maybe", "unsubscribed") == "unsubscribed"
