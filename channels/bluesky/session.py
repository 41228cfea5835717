"""Writes posts into an account's repository."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import requests

from channels.announcement import PostImage
from channels.base import NOTHING, Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.bluesky.client import BlueskyClient
from channels.bluesky.compose import (
    COLLECTION,
    BlueskyAccount,
    BlueskyPost,
    Message,
    Record,
)
from channels.bluesky.record_key import record_key
from channels.http.client import Failed
from channels.http.session import ApiSession
from channels.http.threads import cut_short
from channels.http.transport import TIMEOUT_SECONDS
from channels.pictures import PictureBounds, fetched_picture
from common.pictures.picture import CleanPicture

# app.bsky.embed.external: of a card's picture.
THUMB = PictureBounds(most_side=1_200, most_bytes=1_000_000)


def thumb_of(url: str) -> CleanPicture | None:
    """The picture for a card, if it can be had (network)."""
    return fetched_picture(PostImage(url), THUMB)


class BlueskySession(ApiSession):
    """Posts for one account at a time, whose tokens are its state. Used by one thread at a time."""

    def __init__(
        self,
        state: Mapping[str, str] = NOTHING,
        *,
        session: requests.Session | None = None,
        timeout: float = TIMEOUT_SECONDS,
        picture_of: Callable[[str], CleanPicture | None] = thumb_of,
    ) -> None:
        super().__init__(session=session, timeout=timeout)
        self._tokens, self._kept, self._picture_of = state, state, picture_of

    def send(
        self,
        message: Message,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Posts, and answers with the thread. Whatever an earlier attempt did, there is one post of a key.

        `progress` has the posts that stand already, and the picture that was uploaded.
        """
        if message.refusal:
            return Permanent(message.refusal)
        client = self._client(message.account, now)
        done, remark = {**progress}, ""
        posted = list(done.get("posted", ()))
        try:
            for number, post in enumerate(message.posts[len(posted) :], start=len(posted)):
                rkey = record_key(message.at, f"{key}-{number}" if number else key)
                if posted:
                    answer = {**post.record, "reply": {"root": posted[0], "parent": posted[-1]}}
                    post = BlueskyPost(answer, answer)
                posted.append(self._put(client, rkey, post, done))
                done = {"posted": posted}
        except Failed as failed:
            outcome = failed.outcome
            if isinstance(outcome, Temporary | Ambiguous):
                return replace(outcome, progress=done or None)
            if not posted:
                return outcome
            if isinstance(outcome, Permanent):
                remark = cut_short(len(posted), len(message.posts), outcome)
        finally:
            self._tokens = client.tokens
        root, *answers = (str(one["uri"]) for one in posted)
        place = root.removeprefix("at://").replace(f"/{COLLECTION}/", "/post/")
        url = f"https://bsky.app/profile/{place}"
        return Sent(root, url=url, parts=tuple(answers), remark=remark)

    def delete(self, message: Message, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """Deletes the last post of a thread first. A second time is fine."""
        client = self._client(message.account, now)
        try:
            for uri in (*reversed(parts), remote_id):
                client.delete(uri.rpartition("/")[2])
        except Failed as failed:
            return failed.outcome
        finally:
            self._tokens = client.tokens
        return Sent()

    def new_state(self) -> Mapping[str, str] | None:
        """The tokens, if they were renewed."""
        if self._tokens == self._kept:
            return None
        self._kept = self._tokens
        return dict(self._tokens)

    def _client(self, account: BlueskyAccount, now: datetime) -> BlueskyClient:
        return BlueskyClient(self.transport, account, now, tokens=self._tokens, timeout=self.timeout)

    def _put(self, client: BlueskyClient, rkey: str, post: BlueskyPost, done: dict[str, Any]) -> Record:
        refused: Failed | None = None
        for record in self._versions(client, post, done):
            try:
                return client.put(rkey, record)
            except Failed as failed:
                if not failed.is_about_message:
                    raise
                refused = failed
        assert refused is not None  # noqa: S101 - for the type checker: there is at least one version
        raise refused

    def _versions(self, client: BlueskyClient, post: BlueskyPost, done: dict[str, Any]) -> Iterator[Record]:
        """The post as it should be, then ever plainer; each is asked for when the one before was refused."""
        had = done.get("thumb")
        if had or self._uploaded(client, post, done):
            yield _with_thumb(post.record, done["thumb"])
            # A picture that no post refers to is forgotten after a while.
            if had and client.code == "BlobNotFound" and self._uploaded(client, post, done):
                yield _with_thumb(post.record, done["thumb"])
            done.pop("thumb")
        yield post.record
        if post.plain != post.record:
            yield post.plain

    def _uploaded(self, client: BlueskyClient, post: BlueskyPost, done: dict[str, Any]) -> bool:
        """Whether there is a picture for the card now. No picture stops a post."""
        picture = self._picture_of(post.picture) if post.picture else None
        if picture is None or len(picture.data) > THUMB.most_bytes:
            return False
        try:
            done["thumb"] = client.upload(picture.data, picture.media_type)
        except Failed:
            return False
        return True


def _with_thumb(record: Record, thumb: Record) -> Record:
    embed = record["embed"]
    return {**record, "embed": {**embed, "external": {**embed["external"], "thumb": thumb}}}
