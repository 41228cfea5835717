"""Pictures that were uploaded: kept once each, under the name of what is in them."""

from dataclasses import dataclass

from django.conf import settings

from common.pictures.picture import CleanPicture
from common.ttl_cache import TtlCache
from subscriptions.models import Picture

# What a form or a command may say of a picture: the name of a kept one, a new one, or none (False by forms).
PictureChoice = str | CleanPicture | bool | None


@dataclass(frozen=True, slots=True)
class Served:
    media_type: str
    data: bytes


# A name stands for the same octets for ever, so a process may keep them; a letter to many is opened by many.
_served: TtlCache[Served] = TtlCache(room=16_000_000, seconds=3600, size=lambda picture: len(picture.data))


def kept_picture(choice: PictureChoice) -> str | None:
    """Its name, once it is in the database. The caller owns the transaction."""
    if isinstance(choice, CleanPicture):
        Picture.objects.get_or_create(
            name=choice.name,
            defaults={
                "media_type": choice.media_type,
                "width": choice.width,
                "height": choice.height,
                "data": choice.data,
            },
        )
        return choice.name
    return choice if isinstance(choice, str) and choice else None


def picture_url(name: str | None) -> str:
    """Its address, absolute because letters hold it; empty for none."""
    return f"{settings.SITE_URL}/pictures/{name}" if name else ""


def served_picture(name: str) -> Served:
    """What is sent to whoever asks for it. Raises LookupError."""

    def read() -> Served:
        found = Picture.objects.filter(name=name).values_list("media_type", "data").first()
        if found is None:
            raise LookupError(name)
        return Served(found[0], bytes(found[1]))

    return _served.get(name, read)


def forget_pictures() -> None:
    """For tests, whose databases do not last."""
    _served.clear()
