"""Seascapes that look like photographs, and the logo."""

import io
import math
import random
import struct
import zlib
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFilter, ImageOps

from common.pictures.picture import MOST_SIDE
from demo.scenes import SCENES, Colour, Scene

WIDTH, HEIGHT = 720, 400
HORIZON = 250
SHADES = 80  # in a gradient


SKY, SEA, LIGHT, HILL, BOAT = 0, SHADES, 2 * SHADES, 2 * SHADES + 1, 2 * SHADES + 9


@lru_cache(maxsize=64)
def jpeg(scene: str, seed: str) -> bytes:
    """Deterministic for a seed. Raises KeyError for an unknown scene."""
    return as_jpeg(drawn_photograph(scene, seed))


def header(scene: str, seed: str) -> bytes:
    """Return a wide part of a scene, around the horizon, at twice the width of an email."""
    part = drawn_photograph(scene, seed).crop((0, HORIZON - 150, WIDTH, HORIZON + 80))
    return as_jpeg(part.resize((MOST_SIDE, MOST_SIDE * part.height // WIDTH), Image.Resampling.LANCZOS))


def drawn_photograph(name: str, seed: str) -> Image.Image:
    """Add what a camera sees: clouds, glare, reflections, soft water and a little grain."""
    scene, chance = SCENES[name], random.Random(seed)  # noqa: S311
    flat = Image.frombytes("P", (WIDTH, HEIGHT), b"".join(map(bytes, paint(scene, chance))))
    flat.putpalette(palette(scene))
    image = flat.convert("RGB")
    sky = (0, 0, WIDTH, HORIZON)
    clouds = Image.new("L", (WIDTH, HORIZON))
    draw = ImageDraw.Draw(clouds)
    for _ in range(26):
        x, y = chance.uniform(-80, WIDTH), chance.triangular(10, HORIZON - 50, HORIZON - 90)
        width, height = chance.uniform(90, 320), chance.uniform(3, 14)
        draw.ellipse((x, y, x + width, y + height), fill=round(chance.uniform(50, 120)))
    image.paste(scene.light, sky, clouds.filter(ImageFilter.GaussianBlur(7)))
    # Hills and boats stay in front of the clouds.
    solid = flat.point([255 if index > LIGHT else 0 for index in range(256)], "L").crop(sky)
    image.paste(flat.convert("RGB").crop(sky), sky, solid)
    if scene.sun:
        x, y, radius = scene.sun
        glare = Image.new("L", (WIDTH, HEIGHT))
        for times, strength in ((5, 60), (2.4, 90), (1.1, 150)):
            reach = radius * times
            ImageDraw.Draw(glare).ellipse((x - reach, y - reach, x + reach, y + reach), fill=strength)
        image.paste(scene.light, (0, 0), glare.filter(ImageFilter.GaussianBlur(radius * 1.2)))
    depth = HEIGHT - HORIZON
    mirrored = ImageOps.flip(image.crop((0, HORIZON - depth, WIDTH, HORIZON)))
    sea = image.crop((0, HORIZON, WIDTH, HEIGHT))
    mixed = Image.blend(sea, mirrored.filter(ImageFilter.GaussianBlur(5)), 0.3)
    image.paste(mixed.filter(ImageFilter.GaussianBlur(0.9)), (0, HORIZON))
    hull = flat.point([255 if index == BOAT else 0 for index in range(256)], "L")
    image.paste((40, 44, 52), (0, 0), hull)
    grain = Image.frombytes("L", (WIDTH, HEIGHT), chance.randbytes(WIDTH * HEIGHT))
    return Image.blend(image, Image.merge("RGB", [grain] * 3), 0.025)


def as_jpeg(image: Image.Image) -> bytes:
    written = io.BytesIO()
    image.save(written, "JPEG", quality=84, optimize=True)
    return written.getvalue()


@lru_cache(maxsize=1)
def icon() -> bytes:
    scene = next(scene for scene in SCENES.values() if scene.sun)
    x, y, _ = scene.sun or (0, 0, 0)
    rows = paint(scene, random.Random("icon"))  # noqa: S311
    return encoded([row[x - 32 : x + 32] for row in rows[y - 32 : y + 32]], palette(scene))


def logo(side: int = 240) -> bytes:
    """Return a round seascape with a sail, drawn larger for smooth edges."""
    big = 4 * side
    drawn = Image.new("RGBA", (big, big))
    draw = ImageDraw.Draw(drawn)

    def at(*points: float) -> list[float]:
        return [point * big for point in points]

    draw.ellipse(at(0, 0, 1, 1), fill=(11, 110, 110))
    draw.ellipse(at(0.54, 0.24, 0.76, 0.46), fill=(255, 214, 150))
    draw.chord(at(0, 0, 1, 1), 12, 168, fill=(8, 72, 84))
    draw.polygon(at(0.44, 0.14, 0.44, 0.58, 0.16, 0.58), fill=(255, 255, 255))
    draw.polygon(at(0.48, 0.24, 0.48, 0.58, 0.66, 0.58), fill=(226, 240, 238))
    draw.polygon(at(0.14, 0.63, 0.76, 0.63, 0.64, 0.75, 0.25, 0.75), fill=(255, 255, 255))
    for number in range(2):
        y = 0.82 + 0.07 * number
        draw.line(at(0.3 + 0.06 * number, y, 0.7 - 0.06 * number, y), fill=(90, 160, 164), width=big // 60)
    written = io.BytesIO()
    drawn.resize((side, side), Image.Resampling.LANCZOS).save(written, "PNG")
    return written.getvalue()


def paint(scene: Scene, chance: random.Random) -> list[bytearray]:
    rows = [bytearray([SKY + y * SHADES // HORIZON]) * WIDTH for y in range(HORIZON)]
    depth = HEIGHT - HORIZON
    rows += [bytearray([SEA + y * SHADES // depth]) * WIDTH for y in range(depth)]
    if scene.sun:
        disc(rows, *scene.sun)
    for number in range(len(scene.hills)):
        hills(rows, HILL + number, 46 - 18 * number, chance)
    glitter(rows, scene, chance)
    if scene.boat:
        boat(rows, scene.boat)
    return rows


def disc(rows: list[bytearray], x: int, y: int, radius: int) -> None:
    for line in range(y - radius, min(y + radius, HORIZON)):
        half = math.isqrt(radius * radius - (line - y) ** 2)
        rows[line][x - half : x + half] = bytes([LIGHT]) * (2 * half)


def hills(rows: list[bytearray], colour: int, height: int, chance: random.Random) -> None:
    phases = [chance.uniform(0, 2 * math.pi) for _ in range(3)]
    left = chance.random() < 0.5
    for x in range(WIDTH):
        place = x / WIDTH
        waves = sum(math.sin(place * 5 * k + phase) / k for k, phase in enumerate(phases, 1))
        slope = (1 - place if left else place) * 1.3 - 0.25
        top = HORIZON - round(max(0.0, height * slope * (1 + waves / 3)))
        for y in range(top, HORIZON):
            rows[y][x] = colour


def glitter(rows: list[bytearray], scene: Scene, chance: random.Random) -> None:
    middle = scene.sun[0] if scene.sun else WIDTH // 2
    spread = 90 if scene.sun else WIDTH
    for _ in range(round(170 * scene.rough)):
        y = HORIZON + 2 + round((HEIGHT - HORIZON - 3) * chance.random() ** 1.4)
        near = (y - HORIZON) / (HEIGHT - HORIZON)
        x = round(chance.gauss(middle, spread * (0.25 + near)))
        length = round(6 + 40 * near * chance.random())
        start, end = max(0, x - length), min(WIDTH, x + length)
        if start < end:
            rows[y][start:end] = bytes([LIGHT]) * (end - start)


def boat(rows: list[bytearray], x: int) -> None:
    water = HORIZON + 34
    for line in range(52):
        rows[water - 6 - line][x : x + max(1, (52 - line) // 2)] = bytes([LIGHT]) * max(1, (52 - line) // 2)
    for line in range(8):
        rows[water - 4 + line][x - 20 + 2 * line : x + 34 - 2 * line] = bytes([BOAT]) * (54 - 4 * line)


def palette(scene: Scene) -> bytes:
    hills_ = [*scene.hills, *[(0, 0, 0)] * (BOAT - HILL - len(scene.hills))]
    colours = [*gradient(*scene.sky), *gradient(*scene.sea), scene.light, *hills_, (40, 44, 52)]
    return bytes(value for colour in colours for value in colour)


def gradient(top: Colour, bottom: Colour) -> list[Colour]:
    def mixed(channel: int, step: int) -> int:
        return top[channel] + (bottom[channel] - top[channel]) * step // (SHADES - 1)

    return [(mixed(0, step), mixed(1, step), mixed(2, step)) for step in range(SHADES)]


def encoded(rows: list[bytearray], colours: bytes) -> bytes:
    """PNG, 8-bit palette (RFC 2083, colour type 3)."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    lines = b"".join(b"\0" + row for row in rows)
    chunks = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in chunks)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
