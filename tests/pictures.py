"""Pictures for tests."""

import io
from typing import Any

from PIL import Image


def drawn(width: int, height: int, colour: str = "#1f5f8b") -> Image.Image:
    return Image.new("RGB", (width, height), colour)


def octets_of(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    room = io.BytesIO()
    image.save(room, kind, **options)
    return room.getvalue()
