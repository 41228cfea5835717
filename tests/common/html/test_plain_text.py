"""A post as plain text that reads like a letter.

Numbers of list items as browsers show them.
"""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.html.clean import clean, plain
from common.html.numbering import ordinal
from common.html.plain_text import to_text
from tests.examples import some_now


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One</p><p>Two<br>three</p>", "One\n\nTwo\nthree"),
        ("<h1>Big</h1><h2>Less</h2><h3>Small</h3><p>x</p>", "Big\n===\n\nLess\n----\n\nSmall\n\nx"),
        ("<ul><li>a</li><li>b</li></ul>", "* a\n* b"),
        ("<ol start=9><li>a<li>b</ol><p>c</p>", "9. a\n10. b\n\nc"),
        ("<ul><li>a<ul><li>b</ul></ul>", "* a\n  * b"),
        ("<p>a</p><blockquote><p>b</p><p>c</p></blockquote><p>d</p>", "a\n\n> b\n>\n> c\n\nd"),
        ("<pre>a\n  b</pre>", "    a\n      b"),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2"),
        (
            '<table class="grid"><tr><th>Day<th>Rain<tr><td>Monday<td>14 mm<tr><td>日本<td></table>',
            "Day     Rain\n------  -----\nMonday  14 mm\n日本",
        ),
        ('<table class="grid"><tr><td>a<td>b<tr><td>c</table><p>x</p>', "a  b\nc\n\nx"),
        (f'<table class="grid"><tr><td>{"long " * 12}<td>{"b" * 30}</table>', f"{'long ' * 12}|\n{'b' * 30}"),
        (
            '<table class="grid"><tr><td><a href="https://e.org/">a</a><td>b</table>',
            "a [1]  b\n\n[1] https://e.org/",
        ),
        ("<p>a<sup>1</sup>, 10<sup>6</sup>, 1<sup>st</sup></p>", "a^1, 10^6, 1st"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul><p>d</p>", "* a\n  * b\n* c\n\nd"),
        ("<p>a</p><hr><p>b</p>", "a\n\n* * *\n\nb"),
        ('<img src="x" alt="A cat"><img src="y">', "[A cat]"),
        ("<dl><dt>T</dt><dd>D</dd></dl>", "T\n    D"),
        ("a &amp; b &lt;c&gt; <q>d</q>", "a & b <c> “d”"),
        ("<script>x</script><style>y</style>z", "z"),
        ("", ""),
    ],
)
def test_shapes(html: str, text: str) -> None:
    assert to_text(html) == text


def test_links_are_footnotes_and_each_address_has_one() -> None:
    html = (
        '<p><a href="https://e.org/1">one</a>, <a href="https://e.org/2">two</a>, '
        '<a href="https://e.org/1">one</a></p>'
    )
    assert to_text(html) == "one [1], two [2], one [1]\n\n[1] https://e.org/1\n[2] https://e.org/2"


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("<h3>Day</h3>", "Day [1]"),
        ("<h2>Day</h2>", "Day [1]\n---"),
        ("<p>Day</p><p>Time</p>", "Day\n\nTime [1]"),
        ("Day<div>Time</div>", "Day\n\nTime [1]"),
        ("<div>Day</div>Time", "Day\n\nTime [1]"),
        ("<table><tr><td>Day</td></tr></table>", "Day [1]"),
        ('<table class="grid"><tr><td>Day<td>Time</table>', "Day  Time [1]"),
        ("<ul><li>Day</li></ul>", "* Day [1]"),
        ("<blockquote><p>Day</p></blockquote>", "> Day [1]"),
        ("<pre>Day</pre>", "    Day [1]"),
        ('<figure><img src="x" alt=""></figure>', "[picture] [1]"),
        ('<img src="x"><figcaption>Day</figcaption>', "Day [1]"),
        ("<p></p>", ""),
        ("<p>https://e.org/</p>", "https://e.org/"),
    ],
)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("<div>", "</div>"), ("<td>", "</td>")])
def test_a_link_around_blocks_keeps_its_address(inside: str, text: str, before: str, after: str) -> None:
    linked = to_text(f'{before}<a href="https://e.org/">{inside}</a>{after}')
    assert linked == (f"{text}\n\n[1] https://e.org/" if "[1]" in text else text)


def test_a_link_that_says_its_address_needs_no_footnote() -> None:
    assert to_text('<a href="https://e.org/">https://e.org/</a>') == "https://e.org/"
    assert to_text('<a href="mailto:a@b.org">a@b.org</a>') == "a@b.org"


def test_lines_are_wrapped_and_addresses_are_not() -> None:
    address = "https://example.org/" + "x" * 100
    lines = to_text(f"<blockquote>{'word ' * 40}</blockquote><p>{address}</p>", width=40).split("\n")
    assert all(len(line) <= 40 for line in lines if line != address)
    assert all(line.startswith("> ") for line in lines[:3])
    assert address in lines


@pytest.mark.parametrize(
    "html", some_now(["<blockquote>x" * 30_000, "<ul><li>x" * 30_000, "<a href=x>" * 30_000, "<!--" * 99_999])
)
def test_hostile_html_costs_little(html: str) -> None:
    start = time.process_time()
    to_text(html)
    assert time.process_time() - start < 3


@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from(["<p>", "</p>", "<li>", "</ul>", "<blockquote>", "a", "</a>", "<pre>", " ", "\n"])
    ).map("".join)
)
def test_any_html_is_text(html: str) -> None:
    text = to_text(html)
    assert not text.startswith("\n")
    assert not text.endswith("\n")


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            "<tr><th>Day<th>AM<th>PM<tr><td rowspan=2>Mon<td>1.1<td>1.2<tr><td>2.1<td>2.2<tr>"
            "<td>Tue<td>3.1<td>3.2",
            "Day  AM   PM\n---  ---  ---\nMon  1.1  1.2\n     2.1  2.2\nTue  3.1  3.2",
        ),
        ("<tr><td>a<td>b<td>c<tr><td colspan=2>both of these<td>z", "a  b           c\nboth of these  z"),
        ("<tr><td>a<td rowspan=0>b<td>c<tr><td>d<td>e<tr><td>f<td>g", "a  b  c\nd     e\nf     g"),
        ("<tr><td colspan=2 rowspan=2>a<td>b<tr><td>c<tr><td>1<td>2<td>3", "a     b\n      c\n1  2  3"),
        ("<tr><td>a<td rowspan=3>b<tr><td>c<tr><td>d<tr><td>e<td>f", "a  b\nc\nd\ne  f"),
        ("<tr><td colspan=x rowspan=-1>a<td>b<tr><td>c<td>d", "a  b\nc  d"),
    ],
)
def test_cells_stand_in_the_columns_that_a_browser_gives_them(rows: str, text: str) -> None:
    assert to_text(f'<table class="grid">{rows}</table>') == text


def test_a_wide_span_makes_no_table_of_endless_columns() -> None:
    rows = "<tr><td colspan=1000000 rowspan=1000000>a<td>b" + "<tr><td>c" * 5000
    assert to_text(f'<table class="grid">{rows}</table>').startswith("a | b\nc\n")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>It costs <del>10</del> 8</p>", "It costs ~10~ 8"),
        ("<p><s> 10 </s><strike>9</strike> 8</p>", "~10~ ~9~ 8"),
        ("<p>a <del></del><del> </del>b</p>", "a b"),
        ("<del><p>one</p><p>two</p></del><p>three</p>", "~one\n\ntwo~\n\nthree"),
        ('<p><del><a href="https://e.org/">a</a></del></p>', "~a [1]~\n\n[1] https://e.org/"),
        ('<p><del><img src="a" alt="A chart"></del></p>', "~[A chart]~"),
        ("<p><ins>new</ins></p>", "new"),
    ],
)
def test_words_that_are_struck_out_are_marked(html: str, text: str) -> None:
    assert to_text(html) == text


def test_a_number_to_call_is_named_once() -> None:
    html = '<p><a href="tel:+49301234">+49301234</a>, <a href="sms:+1">write</a></p>'
    assert to_text(html) == "+49301234, write [1]\n\n[1] sms:+1"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<ruby>東京<rt>とうきょう</rt></ruby>へ", "東京（とうきょう）へ"),
        ("<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>", "東（とう）京（きょう）"),
        ("<ruby>東京<rt>とう</rt><rt>きょう</rt></ruby>", "東京（とうきょう）"),
        ("<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>へ", "東京(とうきょう)へ"),
    ],
)
def test_a_reading_has_brackets(html: str, text: str) -> None:
    assert to_text(html) == text
    assert plain(html) == text


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<ol reversed><li>c<li>b<li>a</ol>", "3. c\n2. b\n1. a"),
        ("<ol reversed><li>b<ol><li>x<li>y</ol><li>a</ol>", "2. b\n   1. x\n   2. y\n1. a"),
        ("<ol reversed start=10><li>b<li>a</ol>", "10. b\n9. a"),
        ("<ol><li value=3>c<li>d<li value=-1>e</ol>", "3. c\n4. d\n-1. e"),
        ("<ol type=a start=26><li>z<li>aa</ol>", "z. z\naa. aa"),
        ("<ol type=I start=4><li>four<li type=1>five</ol>", "IV. four\n5. five"),
        ("<ol start=-1><li>a<li>b</ol>", "-1. a\n0. b"),
        ("<ol start=x><li>a</ol>", "1. a"),
        (f"<ol start={'9' * 50}><li>a</ol>", "999999999. a"),
    ],
)
def test_items_have_the_numbers_that_a_browser_shows(html: str, lines: str) -> None:
    assert to_text(html) == lines
    assert to_text(clean(html, base="")) == lines


def test_a_reversed_list_that_is_cut_off_keeps_its_numbers() -> None:
    assert clean("<ol reversed><li>b</li><li>a</li></ol>", base="").startswith('<ol start="2" reversed="">')


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (1994, "i", "mcmxciv"),
        (4000, "I", "4000"),
        (0, "a", "0"),
        (-2, "i", "-2"),
        (702, "A", "ZZ"),
        (7, "x", "7"),
    ],
)
def test_letters_and_roman_numbers_have_their_limits(number: int, kind: str, text: str) -> None:
    assert ordinal(number, kind) == text
