"""Pictures of pages: page, screen and part, written as small files."""

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import unfold
from PIL import Image, ImageChops

from tests.documentation.stage import MOMENT, ZONE, Stage

IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"
ADMIN = ("admin", "a picture of the admin")
# Animations would make a different picture each time.
STILL = """*, *::before, *::after { animation: none !important; transition: none !important;
caret-color: transparent !important }"""
# Replaces the system font of readers by the admin's, the same on every machine.
FACE = """@font-face { font-family: "%s"; font-weight: %d; src: url(data:font/woff2;base64,%s) }"""
FACES = {400: "Regular", 600: "SemiBold", 700: "Bold"}
STANDS_FOR = "Segoe UI"
PAGES_TOO = f':root {{ --sans: "{STANDS_FOR}" !important }}'
# A letter's frame runs no script, so nothing there can be waited for.
WEAR = """([css, family]) => {
    document.head.append(Object.assign(document.createElement('style'), { textContent: css }))
    for (const it of document.querySelectorAll('[style*="system-ui"]')) it.style.fontFamily = family
}"""
SCROLL = "it => scrollTo(0, it.getBoundingClientRect().top + scrollY - 16)"
SETTLES = 400
# Limits for a picture to count as unchanged: the share of differing pixels, and their difference.
SAME_SHARE, SAME_DEPTH = 0.0005, 24
COLOURS = 200


@dataclass(frozen=True, kw_only=True)
class Shot:
    """One picture of a page.

    `path` is called when the stage is set. `first`: the element at the upper edge. `do`: actions on the page
    before. `sharp`: pixels of the file for each pixel of the screen. `photo`: mostly pictures, not words.
    """

    path: Callable[[], str]
    width: int = 1200
    height: int = 800
    dark: bool = False
    signed_in: bool = False
    first: str = ""
    do: Callable[[Any], None] | None = None
    sharp: float = 1
    photo: bool = False


@dataclass(frozen=True, kw_only=True)
class Composed:
    """Several shots on one page, whose HTML has `{}` for the URL of each."""

    shots: Sequence[Shot]
    page: str
    width: int
    height: int
    photo: bool = True


Shots = Mapping[str, Shot | Composed]


def make_admin() -> None:
    from django.contrib.auth import get_user_model

    get_user_model().objects.create_superuser(ADMIN[0], "admin@example.org", ADMIN[1])


def cookie() -> str:
    """Return the cookie of a signed-in admin."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.login(username=ADMIN[0], password=ADMIN[1])
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@cache
def faces() -> str:
    folder = Path(unfold.__file__ or "").parent / "static" / "unfold" / "fonts" / "inter"
    files = {weight: (folder / f"Inter-{name}.woff2").read_bytes() for weight, name in FACES.items()}
    return "".join(
        FACE % (STANDS_FOR, weight, base64.b64encode(data).decode()) for weight, data in files.items()
    )


def picture(browser: Any, stage: Stage, wanted: Shot | Composed) -> Image.Image:
    return compose(browser, stage, wanted) if isinstance(wanted, Composed) else take(browser, stage, wanted)


def take(browser: Any, stage: Stage, shot: Shot) -> Image.Image:
    """Return the page as it looks on that screen."""
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        device_scale_factor=shot.sharp,
        color_scheme="dark" if shot.dark else "light",
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id=ZONE,
        bypass_csp=True,
    )
    context.set_default_timeout(30_000)
    context.clock.set_fixed_time(MOMENT)
    if shot.signed_in:
        context.add_cookies([{"name": "sessionid", "value": cookie(), "url": stage.address}])
    page = context.new_page()
    answer = page.goto(f"{stage.address}{shot.path()}", wait_until="networkidle")
    assert answer.ok, f"{page.url}: {answer.status}"
    for frame in page.frames:
        frame.evaluate(WEAR, [f"{faces()}{PAGES_TOO}{STILL}", STANDS_FOR])
    if shot.do:
        shot.do(page)
    if shot.first:
        page.locator(shot.first).first.evaluate(SCROLL)
    page.wait_for_timeout(SETTLES)
    drawn = page.screenshot()
    context.close()
    return Image.open(io.BytesIO(drawn)).convert("RGB")


def compose(browser: Any, stage: Stage, wanted: Composed) -> Image.Image:
    html = wanted.page
    for shot in wanted.shots:
        room = io.BytesIO()
        take(browser, stage, shot).save(room, "PNG")
        html = html.replace("{}", f"data:image/png;base64,{base64.b64encode(room.getvalue()).decode()}", 1)
    page = browser.new_page(viewport={"width": wanted.width, "height": wanted.height})
    page.set_content(html, wait_until="load")
    drawn = page.screenshot()
    page.close()
    return Image.open(io.BytesIO(drawn)).convert("RGB")


def keep(name: str, image: Image.Image, *, photo: bool) -> str:
    """Write docs/images/NAME.webp unless the existing one looks the same. Returns a message."""
    path, data = IMAGES / f"{name}.webp", packed(image, photo=photo)
    if path.exists() and looks_same(path.read_bytes(), data):
        return f"{len(data) // 1024 + 1} KB, as it was"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return f"{len(data) // 1024 + 1} KB, new"


def packed(image: Image.Image, *, photo: bool) -> bytes:
    """Return WebP. Words keep their edges; photographs may lose a little."""
    room = io.BytesIO()
    if photo:
        image.save(room, "WEBP", quality=82, method=6)
    else:
        few = image.quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        few.convert("RGB").save(room, "WEBP", lossless=True, quality=100, method=6)
    return room.getvalue()


def looks_same(one: bytes, other: bytes) -> bool:
    old, new = (Image.open(io.BytesIO(data)).convert("RGB") for data in (one, other))
    if old.size != new.size:
        return False
    depth = ImageChops.difference(old, new).convert("L").histogram()
    return sum(depth[SAME_DEPTH:]) <= SAME_SHARE * old.width * old.height
