"""Web server on loopback for the pictures of posts."""

from typing import Any

from PIL import Image

from channels.announcement import PostImage
from tests.pictures import octets_of
from tests.servers.api_server import ApiServer, Reply, Request


class PictureHost(ApiServer):
    """Server with only scripted paths."""

    def usual(self, request: Request) -> Reply:
        return Reply(404, "<html>no</html>")

    def has(self, octets: bytes, path: str = "/a.png", alt: str = "") -> PostImage:
        self.paths[path] = Reply(body=octets, headers={"Content-Type": "image/png"})
        return PostImage(f"{self.url}{path}", alt)

    def drawn(self, path: str = "/a.png", *, size: tuple[int, int] = (64, 48), alt: str = "") -> PostImage:
        return self.has(octets_of(Image.new("RGB", size, "#1f5f8b")), path, alt)

    def hits(self, path: str = "/a.png") -> int:
        return len(self.asked(path))


def noise(width: int, height: int, kind: str = "JPEG", **options: Any) -> bytes:
    """Return a picture that compresses badly."""
    return octets_of(Image.effect_noise((width, height), 120).convert("RGB"), kind, **options)
