from datetime import UTC, datetime

from delivery.rendering.issue import render_issue
from feeds.parsing.entry import Media
from tests.delivery.rendering.samples import entry, facts, one, text_of


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
        "You get this email because ada@example.net is subscribed to The Valley Weekly.\n"
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
