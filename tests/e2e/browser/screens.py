"""Screens, and the checks that hold on each of them."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Error

# All of axe-core's rules except experimental ones: WCAG 2.2 to AA and best practices, of every severity.
OPTIONS = {"resultTypes": ["violations"]}
CONTRAST = {**OPTIONS, "runOnly": ["color-contrast"]}
SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
FINGER = 44
WIDTH = "document.documentElement.scrollWidth"
TAPPED = ".button, summary, label.choice, .top a, .foot a, .years a, .field input:not([type=hidden])"
LOW = """([chosen, least]) => [...document.querySelectorAll(chosen)]
    .filter(each => each.checkVisibility({visibilityProperty: true}))
    .filter(each => each.getBoundingClientRect().right > 0 && each.getBoundingClientRect().height < least)
    .map(each => each.outerHTML.slice(0, 200))"""
# Elements beyond the screen, except within a part that scrolls or clips.
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
# Words of letters alone that are on two lines although they fit on one.
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
# Selected links and boxes that forced colours hide: backgrounds and shadows vanish, and transparent borders
# become visible.
UNSEEN = r"""() => {
    const looks = (each) => {
        const {outlineStyle, borderBottomColor, fontWeight, textDecorationLine} = getComputedStyle(each);
        return [outlineStyle, borderBottomColor, fontWeight, textDecorationLine].join();
    };
    const isAsOthers = (each) => [...each.closest('nav').querySelectorAll('a:not([aria-current])')]
        .some(other => other.className === each.className && looks(other) === looks(each));
    const current = [...document.querySelectorAll('nav a[aria-current]')].filter(isAsOthers);
    const boxes = [...document.querySelectorAll('input:is([type=checkbox], [type=radio])')].filter(each =>
        each.checkVisibility({opacityProperty: true}) && getComputedStyle(each).appearance === 'none');
    return [...current, ...boxes].map(each => each.outerHTML.slice(0, 160));
}"""
# Fields of opened folds that aren't on top where their middle is. A label may cover its box, and an open
# dialog or menu the page.
COVERED = r"""() => {
    const isOnTop = (each) => {
        each.scrollIntoView({block: 'center', behavior: 'instant'});
        const box = each.getClientRects()[0];
        const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return each.contains(top) || top?.closest('label')?.control === each;
    };
    const within = 'a[href], button, input:not(.trap *), select, textarea, summary, pre, code';
    const overlay = document.querySelector(':modal, :popover-open, [aria-modal=true]') ?? document;
    const covered = [];
    for (const fold of overlay.querySelectorAll('details')) {
        if (!fold.checkVisibility()) continue;
        const wasOpen = fold.open;
        fold.open = true;
        const parts = [...fold.querySelectorAll(within)].filter(each => each.closest('details') === fold
            && each.checkVisibility({visibilityProperty: true, opacityProperty: true})
            && each.getBoundingClientRect().width > 1 && each.getBoundingClientRect().height > 1);
        covered.push(...parts.filter(each => !isOnTop(each)).map(each => each.outerHTML.slice(0, 160)));
        fold.open = wasOpen;
    }
    scrollTo(0, 0);
    return covered;
}"""
# How each text looks: colour, size and weight, and all grounds beneath it.
TEXTS = """() => [...new Set([...document.querySelectorAll('body, body *')].filter(each =>
    each.checkVisibility({visibilityProperty: true}) && !each.closest(':disabled, [aria-disabled=true]')
        && each.getBoundingClientRect().right > 0 && each.getBoundingClientRect().left < innerWidth
        && (each.matches('input, select, textarea')
            || [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
).map(each => {
    const {color, fontSize, fontWeight, textShadow} = getComputedStyle(each);
    const look = [color, fontSize, fontWeight, textShadow];
    for (let ground = each; ground; ground = ground.parentElement) {
        const {backgroundColor, backgroundImage, opacity, position} = getComputedStyle(ground);
        const parts = [backgroundColor, backgroundImage, opacity, position].join();
        if (parts !== 'rgba(0, 0, 0, 0),none,1,static') look.push(parts);
    }
    return look.join(';');
}))]"""
# Looks of texts on pages without a fault. Contrast takes half of axe-core's time.
LEGIBLE: set[str] = set()
# Waits until a button was answered, by another page or by a new list of posts in this one.
ANSWERED = "() => !document.querySelector('[data-old]') && document.readyState === 'complete'"
# Folder for pictures of all pages: SCREENSHOTS=/tmp/pages pytest tests/e2e/browser
PICTURES = os.environ.get("SCREENSHOTS", "")
WIDE, NARROW = (1280, 900), (390, 844)


@contextmanager
def answered(page: Any) -> Iterator[None]:
    """Wait until an action on the posts of an issue was answered."""
    page.evaluate("(document.querySelector('#fl-edit-posts') ?? document.body).dataset.old = 1")
    yield
    # Without scripts, Playwright's own waiting sometimes does not outlive the change of pages.
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with suppress(Error):
            if page.evaluate(ANSWERED):
                return
        page.wait_for_timeout(50)
    raise AssertionError("no answer")


@dataclass(frozen=True, slots=True)
class Screen:
    """Screen size and browser settings. `scripts`: whether JavaScript runs."""

    width: int
    height: int
    scripts: bool
    scheme: str

    def __str__(self) -> str:
        return f"{self.width}-{'scripts' if self.scripts else 'plain'}-{self.scheme}"

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of a browser context."""
        return {
            "viewport": {"width": self.width, "height": self.height},
            "java_script_enabled": self.scripts,
            "color_scheme": self.scheme,
            "reduced_motion": "reduce",
        }


NIGHT = Screen(*NARROW, scripts=True, scheme="dark")
# The opposite of that one in everything.
DAY = Screen(*WIDE, scripts=False, scheme="light")
OTHERS = (
    Screen(*WIDE, scripts=True, scheme="light"),
    Screen(*WIDE, scripts=False, scheme="dark"),
    Screen(*NARROW, scripts=False, scheme="light"),
)


@dataclass(slots=True)
class Seen:
    """Complaints of a browser."""

    complaints: list[str] = field(default_factory=list)

    def watched(self, page: Any) -> Any:
        page.on("console", lambda message: self._said(message))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def _said(self, message: Any) -> None:
        # A response with an error status is no complaint: invalid forms get 400, and event streams get 503
        # when all slots are in use.
        if message.type == "error" and not re.search("status of (4..|503)", message.text):
            self.complaints.append(message.text)


def sign_in(page: Any, site: str, user: Any = None) -> None:
    """Give the browser a session of the user, by default a new admin."""
    client = Client()
    client.force_login(user or User.objects.create_superuser("ada", "ada@example.org"))
    page.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": site}])


def look_at(page: Any, name: str) -> None:
    """Run all checks of a reader's page. Call once for each page; `name` is for its picture."""
    # A click returns once the next page is requested; the page may still be empty.
    page.wait_for_load_state()
    if PICTURES:
        screen = f"{page.viewport_size['width']}-{_scheme(page)}"
        page.screenshot(path=Path(PICTURES) / f"{name}-{screen}.png", full_page=True)
    assert_fits(page)
    assert_tappable(page)
    hidden = covered(page)
    assert not hidden, (page.url, hidden)
    assert_accessible(page)


def assert_accessible(page: Any, *, options: dict[str, Any] = OPTIONS) -> None:
    """Assert that axe-core finds no fault of any severity."""
    if getattr(page, "is_plain", False) and "<script" not in page.content():
        return  # The screens with scripts check the same page.
    with _where_axe_runs(page) as double:
        texts = set(double.evaluate(TEXTS))
        if texts <= LEGIBLE:
            if options is CONTRAST:
                return
            options = {**options, "rules": {"color-contrast": {"enabled": False}}}
        if not double.evaluate("'axe' in window"):
            double.evaluate(AXE_SCRIPT)
        found = double.evaluate("options => axe.run(options).then(results => results.violations)", options)
    assert not found, f"{page.url}\n" + "\n".join(map(_in_words, found))
    LEGIBLE.update(texts)


def _in_words(fault: dict[str, Any]) -> str:
    where = "\n    ".join(node["html"][:300] for node in fault["nodes"])
    return f"{fault['id']} ({fault['impact']}): {fault['help']}\n    {where}"


@contextmanager
def _where_axe_runs(page: Any) -> Iterator[Any]:
    """Yield the page, or a copy in a browser that runs axe's scripts and none of the page's."""
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
    """Assert that nothing is wider than the screen, nor than the narrowest phone."""
    screen = page.viewport_size
    assert page.evaluate(WIDTH) <= screen["width"], page.url
    page.set_viewport_size({"width": 320, "height": screen["height"]})
    assert page.evaluate(WIDTH) <= 320, page.url
    page.set_viewport_size(screen)


def too_wide(page: Any) -> list[str]:
    """Return the elements that make the page wider than its screen."""
    return list(page.evaluate(WIDE_PARTS))


def covered(page: Any) -> list[str]:
    """Return the fields, links and code in folds that are covered when their fold is open."""
    return list(page.evaluate(COVERED))


def unseen_states(page: Any) -> list[str]:
    """Return the selected elements that look like others in forced colours."""
    page.emulate_media(forced_colors="active")
    unseen = list(page.evaluate(UNSEEN))
    page.emulate_media(forced_colors="none")
    return unseen


def broken_words(page: Any) -> list[str]:
    """Return short words that are broken in the middle."""
    return list(page.evaluate(BROKEN))


def assert_tappable(page: Any) -> None:
    """Assert that tap targets are as high as a finger is wide."""
    low = page.evaluate(LOW, [TAPPED, FINGER - 0.5])
    assert not low, (page.url, low)


def focused(page: Any) -> str:
    """Return the name of the focused field."""
    return str(page.evaluate("document.activeElement.getAttribute('name') || ''"))


def _scheme(page: Any) -> str:
    return "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
