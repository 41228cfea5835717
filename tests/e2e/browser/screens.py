"""Screens, and what must hold on each of them."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe

GRAVE = ("serious", "critical")
# WCAG 2.2 to AA, and headings in order besides.
OPTIONS = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "rules": {"heading-order": {"enabled": True}, "landmark-one-main": {"enabled": True}},
    "resultTypes": ["violations"],
}
SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
FINGER = 44
TAPPED = ".button, summary, label.choice, .top a, .foot a, .years a, .field input:not([type=hidden])"
LOW = """([chosen, least]) => [...document.querySelectorAll(chosen)]
    .filter(each => each.checkVisibility({visibilityProperty: true}))
    .filter(each => each.getBoundingClientRect().right > 0 && each.getBoundingClientRect().height < least)
    .map(each => each.outerHTML.slice(0, 200))"""
# What stands beyond the screen, unless it is within something that scrolls or hides what is beyond it.
WIDE_PARTS = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const beyond = [...document.querySelectorAll('body *')].filter(each => {
        const box = each.getBoundingClientRect();
        return each.checkVisibility() && box.width && (box.right > width + 1 || box.left < -1);
    });
    const first = beyond.slice(0, 3).map(each => each.outerHTML.slice(0, 160));
    return [`${document.documentElement.scrollWidth} px`, ...first];
}"""
# Words of letters alone that would have had room on a line, and yet stand on two.
BROKEN = r"""() => {
    const found = [];
    const main = document.querySelector('main') || document.body;
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    const word = /(?<![\p{L}\p{N}@._\/-])\p{L}{2,16}(?![\p{L}\p{N}@._\/-])/gu;
    while (walker.nextNode()) {
        const node = walker.currentNode;
        const around = node.parentElement;
        if (!around.checkVisibility({visibilityProperty: true})) continue;
        if (around.closest('pre, code, .fl-found')) continue;
        for (const match of node.data.matchAll(word)) {
            const range = document.createRange();
            range.setStart(node, match.index);
            range.setEnd(node, match.index + match[0].length);
            const boxes = [...range.getClientRects()].filter(box => box.width > 1);
            if (new Set(boxes.map(box => Math.round(box.top))).size > 1) found.push(match[0]);
        }
    }
    return found;
}"""
# A folder for pictures of all pages, to be looked at: SCREENSHOTS=/tmp/pages pytest tests/e2e/browser
PICTURES = os.environ.get("SCREENSHOTS", "")


@dataclass(frozen=True, slots=True)
class Screen:
    """`scripts`: whether the browser runs any."""

    width: int
    height: int
    scripts: bool
    scheme: str

    def __str__(self) -> str:
        return f"{self.width}-{'scripts' if self.scripts else 'plain'}-{self.scheme}"

    @property
    def options(self) -> dict[str, Any]:
        """For a browser's context."""
        return {
            "viewport": {"width": self.width, "height": self.height},
            "java_script_enabled": self.scripts,
            "color_scheme": self.scheme,
            "reduced_motion": "reduce",
        }


WIDE, NARROW = (1280, 900), (390, 844)
NIGHT = Screen(*NARROW, scripts=True, scheme="dark")
# It differs from that one in everything.
DAY = Screen(*WIDE, scripts=False, scheme="light")
OTHERS = (
    Screen(*WIDE, scripts=True, scheme="light"),
    Screen(*WIDE, scripts=False, scheme="dark"),
    Screen(*NARROW, scripts=False, scheme="light"),
)


@dataclass(slots=True)
class Seen:
    """What a browser complained of."""

    complaints: list[str] = field(default_factory=list)

    def watched(self, page: Any) -> Any:
        page.on("console", lambda message: self._said(message))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def _said(self, message: Any) -> None:
        # (An answer with an error's status is no complaint: forms come back with 400, and whoever asks for a
        # stream of events where all are taken with 503.)
        if message.type == "error" and not re.search("status of (4..|503)", message.text):
            self.complaints.append(message.text)


def look_at(page: Any, name: str) -> None:
    """All that must hold of a page that a reader sees: call it once for each. `name` is for its picture."""
    # A click returns when the next page is on its way; it may have no element yet.
    page.wait_for_load_state()
    if PICTURES:
        screen = f"{page.viewport_size['width']}-{_scheme(page)}"
        page.screenshot(path=Path(PICTURES) / f"{name}-{screen}.png", full_page=True)
    assert_fits(page)
    assert_tappable(page)
    assert_accessible(page)


def assert_accessible(page: Any, *, has_one_main: bool = False) -> None:
    """No serious or critical fault of axe-core, headings in order, and one main part where that is asked."""
    if getattr(page, "is_plain", False) and "<script" not in page.content():
        return  # It is the page that the screens with scripts look at.
    with _where_axe_runs(page) as double:
        found = Axe().run(double, options=OPTIONS).response["violations"]
    rules = ("heading-order", *(["landmark-one-main"] if has_one_main else ()))
    grave = [fault for fault in found if fault["impact"] in GRAVE or fault["id"] in rules]
    assert not grave, f"{page.url}\n" + "\n".join(map(_in_words, grave))


def _in_words(fault: dict[str, Any]) -> str:
    where = "\n    ".join(node["html"][:300] for node in fault["nodes"])
    return f"{fault['id']} ({fault['impact']}): {fault['help']}\n    {where}"


@contextmanager
def _where_axe_runs(page: Any) -> Iterator[Any]:
    """The page; or, where no scripts run, its double in a browser that runs axe's and none of the page's."""
    if not getattr(page, "is_plain", False):
        yield page
        return
    html = SCRIPT.sub("", page.content())
    context = page.context.browser.new_context(viewport=page.viewport_size, color_scheme=_scheme(page))
    try:
        double = context.new_page()
        double.route(
            page.url, lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8")
        )
        double.goto(page.url)
        yield double
    finally:
        context.close()


def assert_fits(page: Any) -> None:
    """Nothing makes the page wider than the screen, not even on the narrowest phones."""
    screen = page.viewport_size
    for width in (screen["width"], 320):
        page.set_viewport_size({"width": width, "height": screen["height"]})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (page.url, width)
    page.set_viewport_size(screen)


def too_wide(page: Any) -> list[str]:
    """What makes the page wider than its screen."""
    return list(page.evaluate(WIDE_PARTS))


def broken_words(page: Any) -> list[str]:
    """Short words that are broken in the middle."""
    return list(page.evaluate(BROKEN))


def assert_tappable(page: Any) -> None:
    """What is tapped is as high as a finger is wide."""
    low = page.evaluate(LOW, [TAPPED, FINGER - 0.5])
    assert not low, (page.url, low)


def focused(page: Any) -> str:
    """The name of the field that takes what is typed."""
    return str(page.evaluate("document.activeElement.getAttribute('name') || ''"))


def _scheme(page: Any) -> str:
    return "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
