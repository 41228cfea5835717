from datetime import UTC, datetime

import pytest

from common.html.clean import clean
from common.text import text_width
from delivery.rendering.facts import ThemeFacts
from delivery.rendering.issue import render_issue
from feeds.parsing.entry import Media
from tests.delivery.rendering.samples import entry, facts, one, text_of

JAPANESE = "雨が川の上に降っています。船は港で待っています。「明日は晴れるでしょう」と船長は言いました。"


def test_a_post_reads_like_a_letter() -> None:
    post = entry(
        title="Rain & other weather",
        content='<p>It <em>rains</em>, <a href="https://x.example/">they say</a>.</p><ul><li>One</li></ul>',
        published=datetime(2026, 3, 7, 9, tzinfo=UTC),
    )
    assert text_of(render_issue(one(post))) == (
        "The Valley Weekly\n"
        "Read online: https://letters.example/s/valley/archive/\n"
        "\n"
        "Rain & other weather\n"
        "====================\n"
        "by Ada Lovelace, March\xa07,\xa02026\n"
        "https://blog.example/1\n"
        "\n"
        "It rains, they say [1].\n"
        "\n"
        "* One\n"
        "\n"
        "[1] https://x.example/\n"
        "\n"
        "----\n"
        "You get this email because ada@example.net is subscribed to\n"
        "The Valley Weekly.\n"
        "\n"
        "Unsubscribe: https://letters.example/unsubscribe/abc/\n"
        "Manage your subscription: https://letters.example/manage/abc/\n"
        "Past issues: https://letters.example/s/valley/archive/\n"
    )


def test_a_digest_lists_its_posts_first() -> None:
    text = text_of(render_issue(facts()))
    assert "In this issue:\n\n1. Post 1\n2. Post 2\n3. Post 3\n\n* * *\n\nPost 1\n======\n" in text
    assert text.count("* * *") == 3


def test_an_announcement_is_a_few_lines() -> None:
    text = text_of(render_issue(one(entry(title="Rain", content=""))))
    assert (
        "\nRain\nby Ada Lovelace, March\xa07,\xa02026\n\nRead it on the web: https://blog.example/1\n" in text
    )


def test_there_is_no_markup_no_double_gap_and_no_blank_at_a_line_end() -> None:
    pictures = tuple(
        Media(f"https://i.example/{number}.png", "image/png", alt="A bucket") for number in (1, 2)
    )
    sound = Media("https://i.example/rain%20song.mp3", "audio/mpeg", 2048)
    text = text_of(render_issue(facts(entry(1, media=(*pictures, sound)), entry(2, title="", authors=()))))
    assert "A bucket: https://i.example/2.png" in text
    assert "rain song.mp3 (audio/mpeg, 2.0\xa0KB): https://i.example/rain%20song.mp3" in text
    assert "\n\n\n" not in text
    assert not any(line != line.rstrip() for line in text.split("\n"))
    assert "<" not in text
    assert "&" not in text


@pytest.mark.parametrize("content", ["full", "excerpt"])
@pytest.mark.parametrize(
    "words",
    ["It rains on the harbour again today. ", JAPANESE, "ฝนตกที่แม่น้ำวันนี้และพรุ่งนี้"],
    ids=["en", "ja", "th"],
)
def test_no_line_is_longer_than_those_of_posts(words: str, content: str) -> None:
    theme = ThemeFacts(header="A word of ours. " * 10, footer="Another one. " * 10)
    post = entry(title="Rain and " * 20, content=f"<p>{words * 6}</p>")
    letter = render_issue(facts(post, entry(2), theme=theme, newsletter="A long name of a newsletter " * 3))
    lines = text_of(letter, toemail="ada@example.net").split("\n")
    assert [line for line in lines if text_width(line) > 72] == []
    # Closing marks and vowels after their consonant begin no line.
    assert not [line for line in lines if line.startswith(("。", "」", "ี", "ำ", "้"))]


def test_a_table_that_is_too_wide_says_its_headings_in_each_line() -> None:
    heads = "<tr><th>Day<th rowspan=1>Wind:<th colspan=2>Remarks"
    row = f"<tr><td rowspan=2>Mon<td>NW<td>{'rain ' * 8}<td>{'fog ' * 8}<tr><td>N<td><td>sun"
    text = text_of(render_issue(one(entry(content=clean(f"<table>{heads}{row}</table>", base="")))))
    assert (
        f"\n\nDay: Mon\nWind: NW\nRemarks: {('rain ' * 8).strip()}\nRemarks: {('fog ' * 8).strip()}\n"
        "\nDay: Mon\nWind: N\nRemarks: sun\n"
    ) in text
