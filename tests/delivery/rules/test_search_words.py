from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.posts import MOST_ASKED, asked_words, searchable


def is_found(asked: str, *texts: str) -> bool:
    words = searchable(texts, most=100_000)
    return all(word in words for word in asked_words(asked))


def test_case_and_accents_do_not_matter() -> None:
    assert searchable(["Über das Café", "ÜBER Straßen"], most=100) == " uber das cafe strassen"
    assert is_found("STRASSE cafe", "Über das Café", "die Straßen")
    assert is_found("ÉTÉ", "l’été")


def test_all_words_are_asked_for_each_from_its_beginning() -> None:
    assert is_found("sun rain", "Rain, and", "sunny days")
    assert not is_found("rain snow", "Rain and sun")
    assert not is_found("train", "rain")
    assert not is_found("rain", "training")


def test_scripts_without_blanks_are_searched_anywhere() -> None:
    assert is_found("天気", "今日の天気はいい")
    assert not is_found("雪", "今日の天気はいい")


def test_each_word_is_kept_once_and_no_more_than_there_is_room_for() -> None:
    assert searchable(["rain rain", "Rain sun"], most=100) == " rain sun"
    assert searchable(["rain sun snow"], most=10) == " rain sun"
    assert asked_words(" ".join(map(str, range(100)))) == tuple(f" {number}" for number in range(MOST_ASKED))
    assert asked_words("% _ <>") == ()


@given(st.text(max_size=200), st.integers(min_value=0, max_value=200))
def test_what_is_written_is_found_and_bounded(text: str, most: int) -> None:
    assert len(searchable([text], most=most)) <= most
    assert is_found(text, text)
