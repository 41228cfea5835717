"""Re-encoding of uploaded pictures, without metadata. Uses no Django."""

import hashlib
import io
from contextlib import suppress
from typing import BinaryIO

from PIL import Image, ImageCms, ImageOps

from common.pictures.picture import MOST_CODED_BYTES, MOST_SIDE, BadPicture, CleanPicture

# 4 bytes each while decoding.
MOST_PIXELS = 16_000_000
# No other decoder is tried. SVG can run code, and mail programs do not show it.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# Larger opaque PNGs are photographs; transparent ones are reduced to 256 colours.
PHOTOGRAPH = 150_000
LARGE_PICTURE = 600_000
JPEG_QUALITY = 88


def clean_picture(file: BinaryIO, *, least_width: int = 1) -> CleanPicture:
    """`least_width` is in pixels. Raises BadPicture."""
    octets = file.read(MOST_CODED_BYTES + 1)
    if len(octets) > MOST_CODED_BYTES:
        raise BadPicture(
            f"The file has more than {MOST_CODED_BYTES // 1024 // 1024} MB. Save the picture smaller: "
            f"{MOST_SIDE:,} pixels is the widest that emails show."
        )
    image = decoded(octets)
    if image.width < least_width:
        raise BadPicture(
            f"It is {image.width:,} pixels wide and would look blurred: choose one with {least_width:,}."
        )
    image.thumbnail((MOST_SIDE, MOST_SIDE), Image.Resampling.LANCZOS)
    data, kind = _encoded(image)
    return CleanPicture(
        name=f"{hashlib.sha256(data).hexdigest()[:40]}.{kind}",
        media_type="image/png" if kind == "png" else "image/jpeg",
        width=image.width,
        height=image.height,
        data=data,
    )


def decoded(octets: bytes, *, most_pixels: int = MOST_PIXELS, most_side: int = MOST_SIDE) -> Image.Image:
    """Return the first frame, upright, in sRGB. Raises BadPicture."""
    pixels = 0
    try:
        with Image.open(io.BytesIO(octets), formats=FORMATS) as opened:
            pixels = opened.width * opened.height
            if pixels <= most_pixels:
                return _plain(opened, most_side)
    except Image.DecompressionBombError:
        # Pillow's own limit, far above ours.
        pixels = 2 * (Image.MAX_IMAGE_PIXELS or most_pixels)
    except Exception as error:  # a decoder may raise anything
        raise BadPicture("This picture cannot be read. Choose a PNG, JPEG, WebP or GIF.") from error
    raise BadPicture(
        f"It has {pixels // 1_000_000} million pixels or more; the most is {most_pixels // 1_000_000}"
        " million. Make it smaller first."
    )


def _plain(opened: Image.Image, most_side: int) -> Image.Image:
    # Decoding a JPEG at a half, quarter or eighth of its size saves most of the work.
    opened.draft("RGB", (most_side * 2, most_side * 2))
    opened.load()
    image = ImageOps.exif_transpose(opened)
    profile = opened.info.get("icc_profile")
    if profile and image.mode in ("RGB", "RGBA", "CMYK"):
        with suppress(ImageCms.PyCMSError, OSError, ValueError):
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            mode = "RGBA" if image.mode == "RGBA" else "RGB"
            shown = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode=mode)
            image = shown or image
    plain = image.convert("RGBA" if image.has_transparency_data else "RGB")
    if plain.mode == "RGBA" and plain.getchannel("A").getextrema() == (255, 255):
        plain = plain.convert("RGB")
    # Encoders would write this metadata.
    plain.info = {}
    return plain


def _encoded(image: Image.Image) -> tuple[bytes, str]:
    # Optimising a photograph takes a second.
    for share, options in (4, {"compress_level": 1}), (2, {"optimize": True}):
        png = as_file(image, "PNG", **options)
        if image.mode == "RGB" and len(png) > PHOTOGRAPH:
            jpeg = as_file(image, "JPEG", quality=JPEG_QUALITY, optimize=True, progressive=True)
            if len(jpeg) < len(png) / share:
                return jpeg, "jpg"
    if len(png) > LARGE_PICTURE:
        fewer = image.quantize(256, method=Image.Quantize.FASTOCTREE)
        fewer.info = {}
        png = as_file(fewer, "PNG", optimize=True)
    return png, "png"


def as_file(image: Image.Image, kind: str, **options: object) -> bytes:
    room = io.BytesIO()
    image.save(room, kind, **options)
    return room.getvalue()
