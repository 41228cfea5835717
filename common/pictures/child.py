"""Decoding of untrusted pictures in a child process without secrets. Uses no Django."""

import hashlib
import os
import resource
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from common.child_limits import set_limits
from common.pictures.picture import BadPicture, CleanPicture

MOST_FETCHED_PIXELS = 40_000_000
# 40 million pixels of 4 bytes, rotated, and once more without a palette.
MEMORY = 768 * 1024 * 1024
CPU_SECONDS = 10
# Wall clock: machines may be busy.
DECODING_SECONDS = 20.0
# Each needs much memory.
AT_ONCE = 2
QUALITIES = (88, 75)
SMALLER = (1.0, 0.7, 0.5, 0.25)
_JOB, _ANSWER = struct.Struct(">II"), struct.Struct(">4sII")
_KINDS = {b"JPEG": ("jpg", "image/jpeg"), b"PNG ": ("png", "image/png")}
_ROOT = str(Path(__file__).resolve().parents[2])
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from common.pictures.child import serve; serve()"
_KEPT = ("PATH", "LD_LIBRARY_PATH")
_turns = threading.BoundedSemaphore(AT_ONCE)


def resized(octets: bytes, *, most_side: int, most_bytes: int) -> CleanPicture:
    """Raises BadPicture."""
    with _turns, tempfile.TemporaryFile() as answer:
        try:
            subprocess.run(  # noqa: S603 - our own interpreter and our own module
                [sys.executable, "-I", "-B", "-c", _BOOT, _ROOT],
                input=_JOB.pack(most_side, most_bytes) + octets,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                timeout=DECODING_SECONDS,
                check=True,
                start_new_session=True,
            )
        except (subprocess.SubprocessError, OSError):
            raise BadPicture("This is no picture that can be read in a moment.") from None
        answer.seek(0)
        head, data = answer.read(_ANSWER.size), answer.read(most_bytes)
    kind, width, height = _ANSWER.unpack(head) if len(head) == _ANSWER.size else (b"", 0, 0)
    if kind not in _KINDS or not data:
        raise BadPicture("This is no picture that can be read.")
    suffix, media_type = _KINDS[kind]
    name = f"{hashlib.sha256(data).hexdigest()[:40]}.{suffix}"
    return CleanPicture(name=name, media_type=media_type, width=width, height=height, data=data)


def serve() -> None:
    """Any failure ends the process with a status."""
    job = sys.stdin.buffer.read()
    most_side, most_bytes = _JOB.unpack_from(job)
    # Must be loaded before the limits are set.
    from PIL import Image

    from common.pictures import codec

    Image.init()
    set_limits(
        {
            resource.RLIMIT_AS: MEMORY,
            resource.RLIMIT_CPU: CPU_SECONDS,
            resource.RLIMIT_FSIZE: most_bytes + _ANSWER.size,
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
            _answer(b"PNG ", smaller, codec.as_file(smaller, "PNG"), most_bytes)
        on_white = Image.new("RGB", smaller.size, "white")
        on_white.paste(smaller, mask=smaller.getchannel("A") if smaller.mode == "RGBA" else None)
        for quality in QUALITIES:
            octets = codec.as_file(on_white, "JPEG", quality=quality, optimize=True)
            _answer(b"JPEG", on_white, octets, most_bytes)
    sys.exit(1)


def _answer(kind: bytes, image: Any, octets: bytes, most_bytes: int) -> None:
    if len(octets) <= most_bytes:
        sys.stdout.buffer.write(_ANSWER.pack(kind, *image.size) + octets)
        sys.stdout.buffer.flush()
        sys.exit(0)
