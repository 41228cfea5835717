"""Gmail clips letters after 102 KB: none is larger if its posts can be read elsewhere."""

import re
from collections.abc import Callable

import pytest

from common.html.clean import clean
from delivery.rendering.facts import IssueFacts, ThemeFacts
from delivery.rendering.issue import render_issue
from feeds.parsing.entry import Media
from tests.delivery.rendering.samples import entry, facts, html_of, one, text_of
from tests.examples import some_now

CUT = "Continue reading"
BASE = "https://blog.example/1"
PARAGRAPH = '<p>Rain on the <a href="/river">river</a>, and <em>more</em> of it.</p>'
MEDIA = tuple(
    Media(f"https://i.example/{number}/{'x' * 100}.jpg", "image/jpeg", alt="rain " * 40)
    for number in range(10)
)
LARGE: dict[str, Callable[[], IssueFacts]] = {
    "300 KB": lambda: one(entry(content=clean(PARAGRAPH * 5000, base=BASE))),
    "no space in it": lambda: one(entry(content="x" * 300_000)),
    "50 long posts": lambda: facts(
        *(entry(n % 9, content=clean(PARAGRAPH * 300, base=BASE)) for n in range(50))
    ),
    "200 posts": lambda: facts(
        *(entry(n % 9, title="Rain " * 60, content="<p>x</p>" * 500) for n in range(200))
    ),
    "all tags": lambda: facts(*(entry(n, content="<p>" + "<b>x</b>" * 5000 + "</p>") for n in range(9))),
    "lists": lambda: one(entry(content=clean("<ul>" + "<li>x</li>" * 20_000 + "</ul>", base=BASE))),
    "tables": lambda: one(entry(content=clean("<table>" + "<tr><td>1<td>2" * 9_000 + "</table>", base=BASE))),
    "images": lambda: one(entry(content=clean('<p><img src="/a.jpg" alt="rain"></p>' * 3000, base=BASE))),
    "arabic": lambda: facts(*(entry(n, content="<p>" + "مطر " * 30_000 + "</p>") for n in range(5))),
    "many words around": lambda: facts(
        *(entry(n % 9, content="<p>x</p>" * 3000) for n in range(30)),
        theme=ThemeFacts(header="https://e.org/ " * 130, footer="a " * 1000, postal_address="b " * 1000),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", some_now(LARGE, every=2))
def test_a_large_letter_fits_and_says_where_the_rest_is(name: str) -> None:
    letter = render_issue(LARGE[name]())
    html, text = html_of(letter), text_of(letter)
    assert len(html.encode()) < 102_000
    assert CUT in html
    assert f"{CUT}: https://blog.example/" in text
    assert html.rstrip().endswith("</html>")
    assert "Unsubscribe" in html


def test_posts_full_of_media_fit_as_well() -> None:
    letter = render_issue(facts(*(entry(n % 9, media=MEDIA) for n in range(50))))
    assert len(html_of(letter).encode()) < 102_000


def test_images_that_are_written_out_in_a_post_are_left_out() -> None:
    image = f'<img src="data:image/png;base64,{"iVBORw0K" * 40_000}" alt="A chart">'
    content = clean(f"<p>Before.</p><p>{image}</p><p>After.</p>", base=BASE)
    html = html_of(render_issue(one(entry(content=content))))
    assert "base64" not in html
    assert "A chart" in html
    assert "After." in html
    assert CUT not in html


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("<p>" + "Rain on the river. " * 20 + "</p>", id="whole"),
        pytest.param("<p>Дождь на реке. " * 20 + "</p>", id="two bytes a letter"),
        pytest.param("<ul><li>x</li></ul>", id="styled again and again"),
    ],
)
def test_a_letter_that_has_to_be_cut_is_nearly_full(content: str) -> None:
    many = 100_000 // len(content) * 3
    html = html_of(render_issue(one(entry(content=clean(content * many, base=BASE)))))
    assert CUT in html
    assert 93_000 < len(html.encode()) <= 100_000


def excerpts(count: int, address: int) -> IssueFacts:
    """Return a digest with a picture in each post, and addresses of this length."""

    def address_of(number: int) -> str:
        return f"https://blog.example/{number:03}".ljust(address, "x")

    text = "<p>" + "Rain on the river. " * 20 + "</p>"
    return facts(
        *(
            entry(
                number,
                title=f"A title of some forty characters, {number:03}",
                link=address_of(number),
                content=f'<p><img src="{address_of(number)}.jpg" alt=""></p>{text}',
            )
            for number in range(count)
        ),
        content="excerpt",
    )


def test_fifty_excerpts_with_long_addresses_fit() -> None:
    html = html_of(render_issue(excerpts(50, address=80)))
    assert html.count('<h2 class="title"') == 50
    assert len(html.encode()) <= 85_000
    assert sum(map(len, re.findall(r' style="[^"]*"', html))) < len(html) / 3


def test_of_many_excerpts_as_many_as_fit_are_shown_and_the_others_listed() -> None:
    html = html_of(render_issue(excerpts(120, address=120)))
    assert 40 < html.count('<h2 class="title"') < 50
    assert 93_000 < len(html.encode()) <= 100_000
    assert all(f"https://blog.example/{number:03}x" in html for number in range(120))


@pytest.mark.slow
def test_a_letter_of_many_long_posts_is_nearly_full() -> None:
    posts = (entry(n, title="Rain " * 60, content="<p>x</p>" * 500) for n in range(60))
    assert 93_000 < len(html_of(render_issue(facts(*posts))).encode()) <= 100_000


def test_a_post_just_above_the_budget_loses_only_its_end() -> None:
    paragraph = "<p>" + "Rain on the river. " * 20 + "</p>"
    content = paragraph * (105_000 // len(paragraph))
    html = html_of(render_issue(one(entry(content=content))))
    assert html.count("Rain on the river. Rain") > 0.8 * content.count("Rain on the river. Rain")
