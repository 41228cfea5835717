"""Decoding of untrusted pictures in a child process without secrets. Uses no Django."""

import hashlib
import resource
import socket
import struct
import sys
import threading
from contextlib import closing
from typing import Any

from common.child_process import Child, framed, messages, set_limits
from common.pictures.picture import BadPicture, CleanPicture

MOST_FETCHED_PIXELS = 40_000_000
# 40 million pixels of 4 bytes, rotated, and once more without a palette.
DECODING_MEMORY = 768 * 1024 * 1024
DECODING_CPU_SECONDS = 10
# Wall clock: machines may be busy.
DECODING_SECONDS = 20.0
# Each needs much memory.
AT_ONCE = 2
QUALITIES = (88, 75)
SMALLER = (1.0, 0.7, 0.5, 0.25)
_JOB, _ANSWER = struct.Struct(">II"), struct.Struct(">4sII")
_KINDS = {b"JPEG": ("jpg", "image/jpeg"), b"PNG ": ("png", "image/png")}
_turns = threading.BoundedSemaphore(AT_ONCE)


def resized(octets: bytes, *, most_side: int, most_bytes: int) -> CleanPicture:
    """Raises BadPicture."""
    job, most = _JOB.pack(most_side, most_bytes) + octets, most_bytes + 100
    try:
        with _turns, closing(Child("common.pictures.child")) as child:
            answer = next(child.ask(job, seconds=DECODING_SECONDS, most=most))
    except (StopIteration, OSError):
        raise BadPicture("This is no picture that can be read in a moment.") from None
    head, data = answer[: _ANSWER.size], answer[_ANSWER.size :]
    kind, width, height = _ANSWER.unpack(head) if data else (b"", 0, 0)
    if kind not in _KINDS:
        raise BadPicture("This is no picture that can be read.")
    suffix, media_type = _KINDS[kind]
    name = f"{hashlib.sha256(data).hexdigest()[:40]}.{suffix}"
    return CleanPicture(name=name, media_type=media_type, width=width, height=height, data=data)


def serve(line: socket.socket) -> None:
    """Answer one job. Any failure ends the process without an answer."""
    job = next(messages(line))
    most_side, most_bytes = _JOB.unpack_from(job)
    # Must be loaded before the limits are set.
    from PIL import Image

    from common.pictures import codec

    Image.init()
    set_limits(
        {
            resource.RLIMIT_AS: DECODING_MEMORY,
            resource.RLIMIT_CPU: DECODING_CPU_SECONDS,
            resource.RLIMIT_FSIZE: 0,
        }
    )
    image = codec.decoded(job[_JOB.size :], most_pixels=MOST_FETCHED_PIXELS, most_side=most_side)
    image.thumbnail((most_side, most_side), Image.Resampling.LANCZOS)
    # Keep sharp lines if the PNG is small; photographs are JPEG or WebP already.
    is_photo = job[_JOB.size :][:1] in (b"\xff", b"R")
    for scale in SMALLER:
        smaller = image.copy()
        room = (max(image.width * scale, 1), max(image.height * scale, 1))
        smaller.thumbnail(room, Image.Resampling.LANCZOS)
        if not (is_photo and smaller.mode == "RGB"):
            _answer(line, b"PNG ", smaller, codec.as_file(smaller, "PNG"), most_bytes)
        on_white = Image.new("RGB", smaller.size, "white")
        on_white.paste(smaller, mask=smaller.getchannel("A") if smaller.mode == "RGBA" else None)
        for quality in QUALITIES:
            octets = codec.as_file(on_white, "JPEG", quality=quality, optimize=True)
            _answer(line, b"JPEG", on_white, octets, most_bytes)


def _answer(line: socket.socket, kind: bytes, image: Any, octets: bytes, most_bytes: int) -> None:
    if len(octets) <= most_bytes:
        line.sendall(framed(_ANSWER.pack(kind, *image.size) + octets))
        sys.exit()
