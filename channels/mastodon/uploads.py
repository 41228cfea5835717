"""Pictures, which an instance may take time to process."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from channels.announcement import PostImage
from channels.base import Temporary
from channels.http.client import Failed
from channels.mastodon.client import Client
from channels.mastodon.message import Instance
from channels.pictures import fetched_picture
from common.truncation import cut_to

# Two minutes in all: 5 s, 10 s, 15 s ...; a lane may extend them.
PAUSE = timedelta(seconds=5)
MOST_LOOKS = 7


class Uploads:
    """Readiness by id. Failures are left out."""

    def __init__(self, client: Client, instance: Instance, progress: Mapping[str, Any]) -> None:
        """Restore the `progress` of an earlier outcome."""
        self._client, self._instance = client, instance
        self._media: dict[str, bool] = dict(progress.get("media", {}))
        self._looks = int(progress.get("looks", 0))

    @property
    def progress(self) -> dict[str, Any]:
        return {"media": self._media, "looks": self._looks} if self._media else {}

    def ready(self, images: Sequence[PostImage], now: datetime) -> list[str]:
        """Upload once, and return usable pictures.

        Raises Failed with a waiting Temporary while one is processed.
        """
        if not self._media:
            self._upload(images)
        else:
            self._look()
        if not all(self._media.values()) and self._looks < MOST_LOOKS:
            self._looks += 1
            again = now + PAUSE * self._looks
            raise Failed(Temporary("The pictures are being prepared.", retry_at=again, waits=True))
        return [media_id for media_id, is_ready in self._media.items() if is_ready]

    def _upload(self, images: Sequence[PostImage]) -> None:
        for image in images:
            if (picture := fetched_picture(image, self._instance.pictures)) is None:
                continue
            try:
                media_id, is_ready = self._client.upload(picture, cut_to(image.alt, self._instance.alt))
            except Failed as failed:
                if failed.is_about_message:
                    continue
                break  # the others would fail too
            self._media[media_id] = is_ready

    def _look(self) -> None:
        for media_id in [media_id for media_id, is_ready in self._media.items() if not is_ready]:
            try:
                self._media[media_id] = self._client.is_ready(media_id)
            except Failed:
                del self._media[media_id]
