"""Letters have each word, picture, picture's name and link's address that a browser shows of a post.

Left out on purpose, and so not in these trees:

* buttons and sliders, which need a script; placeholders of form fields, which are no content
* small drawings beside words, and titles of those in links: icons
* pictures of 1×1 pixels, and the addresses of known counters
* inline elements with `aria-hidden` beside a formula, which draw the same formula
* columns of numbers that count up beside code
* `visibility: visible` in hidden elements: menus that open by script
* words in `object` and `iframe`, which are for browsers that can't show the file
* labels of a drawing of over 300 characters: useless without the drawing

Hidden words that name a link which has no other words, and content of `details`, are shown.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC
from itertools import count
from random import Random
from typing import Any

import pytest

from common.html.clean import clean
from common.text import words
from delivery.rendering.posts import letter_html, letter_post
from delivery.rendering.shortening import ROOMS
from feeds.parsing.entry import Entry

pytestmark = pytest.mark.slow

TREES, SEED = 400, 1
BASE = "https://blog.example/posts/one"
_TOKEN = re.compile(r"[wu]\d+z")
_INTERACTIVE = re.compile(
    r"<(?:a|area|audio|button|details|embed|iframe|input|label|object|select|textarea|video)\b"
)
_INLINE = sorted(
    words(
        "abbr b bdi bdo cite code data del dfn em font i ins kbd label mark nobr output q s samp small span"
        " strong sub sup time tt u var x-note"
    )
)
_BLOCKS = sorted(
    words(
        "address article aside blockquote center del dialog div fieldset figure footer form header hgroup ins"
        " main nav p pre search section x-card"
    )
)
_FIRST = {"figcaption": "figure", "summary": "details", "legend": "fieldset", "caption": "table"}
_LOOKS = (
    *("", "", "", ' lang="de"', ' dir="rtl"', ' title="t"', ' class="line"', ' class="icon"', ' id="i"'),
    *(' style="display:block"', ' style="display:inline-block"', ' style="float:left"', ' role="button"'),
    *(' style="white-space:pre"', ' style="position:absolute"', " inert", " open", ' class="gutter"'),
    *(' data-url="https://a.example/"', ' cite="https://a.example/cite"', ' role="img"'),
)
_HIDES = (
    *(" hidden", ' style="display:none"', ' style="color:red; display : none !important"', " popover"),
    *(' style="visibility:hidden"', ' class="sr-only" hidden'),
)
# W is a word, U the start of an address; "other" is shown where a browser shows no words.
_LEAVES = (
    *(" W ", "W, ", " W\n ", "<br>W", "W<wbr>", "1 < 2 W & 3", "&lt;b&gt;W", "</W>W"),
    *('<img src="U.png" alt="W">', '<img src="U.png">', '<img srcset="U.png 2x, U.png" alt="W">'),
    '<picture><source srcset="U.webp" type="image/webp"><img src="U.jpg" alt="W"></picture>',
    '<img src="U.png" usemap="#m"><map name="m"><area href="U" alt="W"><area href="U" alt="W"></map>',
    '<svg width="200" height="100"><title>other</title><path d="M0 0"/></svg>',
    '<svg width="200" height="100" aria-label="W"><path d="M0 0"/></svg>',
    '<svg width="200" height="100"><text x="1" y="20">W</text></svg>',
    '<svg width="200" height="100"><foreignObject><p>W</p></foreignObject></svg>',
    '<a href="U"><svg width="16" height="16" aria-label="W"><path d="M0 0"/></svg></a>',
    '<a href="U"><svg width="16" height="16"><path d="M0 0"/></svg></a>',
    '<a href="U"><svg width="16" height="16"><title>i</title><path d="M0 0"/></svg> W</a>',
    '<a href="U"><svg width="200" height="90"><path d="M0 0"/></svg></a>',
    *('<a href="U"><img src="U.gif"></a>', '<a href="U"><img src="U.gif" title="other"></a>'),
    *('<input value="W">', '<input type="date" value="W">', "<textarea>W</textarea>", "<button>Go</button>"),
    *('<input type="checkbox" checked> W', '<input type="radio"><label>W</label>'),
    *('<input type="submit" value="W">', '<input type="image" src="U.png" alt="W">'),
    *("<select><option>W</option></select>", "<select multiple><optgroup><option>W<option>W</select>"),
    *('<iframe src="U" title="other"></iframe>', '<iframe src="U" width="560"></iframe>'),
    *('<object data="U.pdf"></object>', '<embed src="U.pdf">', '<audio src="U.mp3" controls></audio>'),
    *('<video src="U.mp4" controls>other</video>', '<video controls><source src="U.mp4"></video>'),
    *("<ruby>W<rt>W</rt></ruby>", "<ruby>W<rp>(</rp><rt>W</rt><rp>)</rp></ruby>"),
    *("<math><mi>W</mi><mo>=</mo><mn>1</mn></math>", '<b aria-hidden="true">W</b>'),
    "<math><mtable><mtr><mtd><mfrac><mi>W</mi><mtext>W</mtext></mfrac></mtd></mtr></mtable></math>",
    *('<meter value="0.5">other</meter>', "<canvas>other</canvas>", "<slot>W</slot>", "<marquee>W</marquee>"),
    *("<xmp>W</xmp>", "<listing>W</listing>", "<acronym>W</acronym>", "<strike>W</strike>"),
    *("<script>W</script>", "<style>W</style>", "<!-- W -->", "<template>W</template>"),
    '<span class="line-number">1</span>W\n<span class="line-number">2</span>W\n',
    *("<div><p>W<p>W</div>", "<div><b>W<p>W</b>W</p></div>", "<ul><li>W<li>W</ul>", "<dl><dt>W<dd>W</dl>"),
    *("<table><tr><td>W<td>W<tr><th>W</table>", "<table>W<tr><td rowspan=2>W<td colspan=9>W</table>"),
)
# For each tree its words, names and addresses of links; addresses of pictures; hidden words in links.
_SEEN = """trees => {
    const shown = one => one.checkVisibility({visibilityProperty: true})
    return trees.map(html => {
        const tree = document.createElement("div")
        tree.innerHTML = html
        document.body.append(tree)
        tree.querySelectorAll("details").forEach(one => one.open = true)
        const all = [...tree.querySelectorAll("*")].filter(shown)
        const values = (selector, name) =>
            all.filter(one => one.matches(selector)).map(one => one.getAttribute(name) || "")
        const areas = name => [...tree.querySelectorAll("area")]
            .filter(one => shown(one.parentElement)).map(one => one.getAttribute(name))
        const seen = [
            [
                [tree.innerText], values("img, input", "alt"), areas("alt"), values("svg", "aria-label"),
                values("input:not([type=image])", "value"),
                all.filter(one => one.matches("textarea, svg > title")).map(one => one.textContent),
                all.filter(one => one.matches("a") && (one.innerText.trim() || one.querySelector("img, svg")))
                    .map(one => one.href),
                areas("href"), values("iframe, video, audio, embed, source", "src"), values("object", "data"),
            ].flat().join(" "),
            values("img", "src").join(" "),
            [...tree.querySelectorAll("a")].filter(one => !one.innerText.trim())
                .map(one => one.innerHTML).join(" "),
        ]
        tree.remove()
        return seen
    })
}"""


class _Trees:
    def __init__(self, seed: int) -> None:
        self.random, self.numbers = Random(seed), count(1)

    def several(self, part: Callable[[int], str], depth: int, most: int = 4) -> str:
        return "".join(part(depth) for _ in range(self.random.randint(1, most)))

    def element(self, name: str, inside: str) -> str:
        look = self.random.choice(_HIDES if self.random.random() < 0.06 else _LOOKS)
        return f"<{name}{look}>{inside}</{name}>"

    def link(self, inside: str) -> str:
        return self.element("a", inside).replace(
            "<a", f'<a href="https://a.example/u{next(self.numbers)}z"', 1
        )

    def phrase(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.35:
            html = re.sub(
                "U", lambda _: f"https://a.example/u{next(self.numbers)}z", self.random.choice(_LEAVES)
            )
            return re.sub("W", lambda _: f"w{next(self.numbers)}z", html)
        inside = self.several(self.phrase, depth - 1, 3)
        if self.random.random() < 0.2 and not _INTERACTIVE.search(inside):
            return self.link(inside)
        return self.element(self.random.choice(_INLINE), inside)

    def block(self, depth: int) -> str:
        if depth <= 0:
            return self.several(self.phrase, 2)
        inside, kind = self.several(self.block, depth - 1, 3), self.random.randrange(12)
        if kind == 0 and not _INTERACTIVE.search(inside):
            return self.link(inside)
        if kind == 1:
            return self.element(
                self.random.choice(("ul", "ol", "menu", "dir")), self.several(self.item, depth)
            )
        if kind == 2:
            return self.element("dl", self.element("dt", self.phrase(1)) + self.element("dd", inside))
        if kind == 3:
            rows, part = self.several(self.row, depth, 3), self.random.choice(("thead", "tbody", "tfoot"))
            return self.element("table", self.element(part, rows) if self.random.random() < 0.5 else rows)
        if kind == 4:
            name = self.random.choice(list(_FIRST))
            return self.element(_FIRST[name], f"<{name}>{self.phrase(1)}</{name}>{inside}")
        if kind == 5:
            return self.element(self.random.choice(("h1", "h3", "h6")), self.several(self.phrase, 2))
        if kind == 6:
            return f"<hr>{self.several(self.phrase, 2)}"
        return self.element(self.random.choice(_BLOCKS), inside)

    def item(self, depth: int) -> str:
        return self.element("li", self.block(depth - 1))

    def row(self, depth: int) -> str:
        return self.element("tr", self.several(self.cell, depth, 3))

    def cell(self, depth: int) -> str:
        return self.element(self.random.choice(("td", "td", "th")), self.block(depth - 1))


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = browser.new_page()
    opened.route("**", lambda route: route.abort())
    opened.set_content("<!doctype html>")
    yield opened
    opened.close()


def test_letters_show_what_browsers_show_of_a_post(page: Any) -> None:
    trees = _Trees(SEED)
    made = [trees.several(trees.block, trees.random.choice((0, 1, 1, 2)), 2) for _ in range(TREES)]
    wrong = []
    for html, seen in zip(made, page.evaluate(_SEEN, made), strict=True):
        words, pictures, hidden_in_links = (set(_TOKEN.findall(each)) for each in seen)
        entry = Entry(guid="1", link=BASE, base=BASE, content=clean(html, base=BASE))
        letter = letter_post(
            entry,
            whole=letter_html(entry),
            share=ROOMS[0].html,
            zone=UTC,
            archive_url="",
            newsletter_language="en",
        )
        for part, expected in ((letter.html, words | pictures), (letter.text, words)):
            tokens = set(_TOKEN.findall(part))
            surplus = {each for each in tokens - words - hidden_in_links if each[0] == "w"}
            # A post that hides all is shown in full.
            if expected - tokens or (surplus and any(each[0] == "w" for each in words)):
                wrong.append((len(html), expected - tokens, surplus, html, part))
    assert not wrong, (len(wrong), min(wrong))
