"""Uses no Django and needs no decoder."""

from dataclasses import dataclass

from common.refused import Refused

MOST_CODED_BYTES = 8 * 1024 * 1024
# Twice the width of a letter, for high-density screens.
MOST_SIDE = 1104


class BadPicture(Refused):
    pass


@dataclass(frozen=True, slots=True)
class CleanPicture:
    """PNG or JPEG, which every mail program shows. `name` contains the hash of `data`."""

    name: str
    media_type: str
    width: int
    height: int
    data: bytes
