import re
from itertools import pairwise
from xml.etree import ElementTree

from common.admin.day_plot import BELOW_BAD, LOWEST, MOST, SPARK_HEIGHT, Bar, sparkline

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*bars: Bar, title: str = "Posts", description: str = "What it shows.") -> ElementTree.Element:
    html = str(sparkline(bars, name="fl-posts", title=title, description=description))
    return ElementTree.fromstring(html.replace("<svg", f'<svg xmlns="{SVG[1:-1]}"', 1))  # noqa: S314 - our own


def heights(*bars: Bar) -> list[int]:
    return [int(rect.get("height", "")) for rect in drawn(*bars).iter(f"{SVG}rect")]


def classes(*bars: Bar) -> list[str | None]:
    return [rect.get("class") for rect in drawn(*bars).iter(f"{SVG}rect")]


def test_who_cannot_see_it_reads_its_title_and_description() -> None:
    svg = drawn(Bar(1))
    assert svg.get("role") == "img"
    names = (svg.get("aria-labelledby") or "").split()
    texts = {element.get("id"): element.text for element in svg}
    assert [texts[name] for name in names] == ["Posts", "What it shows."]


def test_the_highest_stands_at_full_height_and_the_others_by_their_share() -> None:
    assert heights(Bar(10), Bar(5), Bar(2.5)) == [SPARK_HEIGHT, SPARK_HEIGHT // 2, SPARK_HEIGHT // 4]


def test_nothing_is_still_seen_as_nothing() -> None:
    assert heights(Bar(0), Bar(0)) == [LOWEST, LOWEST]
    assert classes(Bar(0), Bar(1)) == ["fl-none", "fl-bar"]


def test_bad_ones_stand_out_by_height_as_well_as_by_colour() -> None:
    assert heights(Bar(5), Bar(99_999, bad=True)) == [BELOW_BAD, SPARK_HEIGHT]
    assert classes(Bar(5), Bar(5, bad=True)) == ["fl-bar", "fl-bad"]


def test_no_bars_draw_nothing() -> None:
    assert sparkline([], name="x", title="x", description="x") == ""


def test_no_more_than_a_bounded_number_is_drawn_and_the_newest_are() -> None:
    many = [Bar(1)] * MOST + [Bar(9)]
    assert len(heights(*many)) == MOST
    assert heights(*many)[-1] == SPARK_HEIGHT


def test_bars_stand_within_the_picture_and_do_not_overlap() -> None:
    svg = drawn(*[Bar(n) for n in range(26)])
    width = int((svg.get("viewBox") or "").split()[2])
    places = [(int(r.get("x", "")), int(r.get("width", ""))) for r in svg.iter(f"{SVG}rect")]
    assert all(x + w <= nx for (x, w), (nx, _) in pairwise(places))
    assert sum(places[-1]) == width


def test_words_are_escaped_and_there_is_no_script() -> None:
    evil = '"><script>x</script>'
    html = str(sparkline([Bar(1, evil)], name="n", title=evil, description=evil))
    assert "<script" not in html
    assert not re.search(r"\son\w+=", html)
    assert "&lt;script&gt;" in html
