from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar, cast

import requests

from channels.base import Permanent, Sent
from channels.http.client import ApiClient, Failed, UnreadableAnswer, a_moment, a_web_url, an_id
from channels.http.links import is_of
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse
from channels.mastodon.message import Instance, Status, instance_of
from common.pictures.picture import CleanPicture

T = TypeVar("T")
# Posting, pictures, and the look-up after a lost answer.
OUR_SCOPES = ("write:statuses", "write:media", "read:statuses")
# Who the account is. From 4.3 on there is a scope for only that.
WHO, WHO_BEFORE = "profile", "read:accounts"
NEEDED = ({"write", "write:statuses"}, "post"), ({"read", "read:statuses"}, "read its own posts")
SCOPES = "read, write:statuses and, for pictures, write:media"
STATUSES_LOOKED_AT = 40
CLOCKS_DIFFER = timedelta(minutes=10)


def _code(answer: ApiResponse) -> str:
    """A 403 concerns the token's scopes, or the account, which may be restored."""
    if answer.status == 403 and (words := answer.text_at("error")):
        return "scope" if "scope" in words.lower() else "account"
    return ""


MASTODON = ApiService(
    name="a Mastodon instance",
    words=lambda answer: answer.text_at("error"),
    code=_code,
    verdicts={"account": Verdict.STOPS, "scope": Verdict.CREDENTIALS},
    advice=f"Save a new access token. The old one was revoked or lacks the scopes {SCOPES}.",
)


class Client:
    """Makes one or two requests per method. Raises Failed.

    Uses Mastodon.py, but reads the answers itself. Exceptions: uploads, before which Mastodon.py asks for the
    version, and edits, where it fails with TypeError if there are pictures.
    """

    def __init__(self, api: ApiClient) -> None:
        # Large, and most processes do not need it.
        from mastodon import Mastodon

        self._api = api
        self._library = Mastodon(
            api_base_url=api.url,
            session=cast(requests.Session, api.transport),
            request_timeout=api.timeout,
            ratelimit_method="throw",
            version_check_mode="none",
            user_agent="",  # the session sets it
        )
        # The constructor reads a file if the token is its name.
        self._library.access_token = api.to.secrets["access_token"]

    def instance(self) -> Instance:
        """Read API v2, else v1, else return the defaults."""
        older = partial(self._read, self._library.instance_v1, instance_of, gone=Instance)
        return self._read(self._library.instance_v2, instance_of, gone=older)

    def account(self) -> tuple[str, str]:
        return self._read(
            self._library.account_verify_credentials,
            lambda answer: (an_id(answer.at("id")), an_id(answer.at("acct"))),
        )

    def scopes(self) -> set[str]:
        """Return none if unknown.

        Before 4.3, Mastodon refuses tokens that may not read everything.
        """
        try:
            return self._read(
                self._library.app_verify_credentials, lambda answer: set(answer.at("scopes") or ()), gone=set
            )
        except Failed:
            if self._api.answer.status == 403:
                return set()
            raise

    def post(self, body: Status, text: str, key: str, *, media: Sequence[str], before: str) -> Sent:
        """Replies are not in strangers' timelines."""
        post = partial(
            self._library.status_post,
            text,
            visibility="unlisted" if before and body.visibility == "public" else body.visibility,
            spoiler_text=body.spoiler or None,
            **({"sensitive": True} if body.sensitive else {}),
            language=body.language or None,
            quote_approval_policy=body.quotes or None,
            media_ids=list(media) or None,
            in_reply_to_id=before or None,
            idempotency_key=key,
        )
        return self._read(post, _sent, posting=True)

    def edit(self, status_id: str, body: Status, text: str) -> Sent:
        """Pictures remain only if listed."""
        path = f"/api/v1/statuses/{status_id}"
        pictures = self._api.call(
            "GET", path, read=lambda answer: [one["id"] for one in answer.json["media_attachments"]]
        )
        form = {"status": text, "spoiler_text": body.spoiler, "language": body.language or None}
        form |= {"sensitive": "true"} if body.sensitive else {}
        return self._api.call("PUT", path, read=_sent, data={**form, "media_ids[]": pictures})

    def delete(self, status_id: str) -> None:
        nothing: Callable[..., None] = lambda *_: None  # noqa: E731
        self._read(partial(self._library.status_delete, status_id), nothing, gone=nothing)

    def upload(self, picture: CleanPicture, alt: str) -> tuple[str, bool]:
        """Return the id and whether it is ready."""
        files, form = {"file": (picture.name, picture.data, picture.media_type)}, {"description": alt or None}
        return self._api.call(
            "POST",
            "/api/v2/media",
            read=lambda answer: (an_id(answer.at("id")), answer.status == 200),
            files=files,
            data=form,
        )

    def is_ready(self, media_id: str) -> bool:
        """Raises Failed if it never will be ready."""
        return self._api.call("GET", f"/api/v1/media/{media_id}", read=lambda answer: answer.status == 200)

    def find(self, body: Status, text: str, before: str, *, since: datetime) -> Sent | None:
        """Find it among the account's last 40 since a time.

        Replies must be to `before`. Without a link, equal words raise Failed: only a person can decide.
        """
        is_known = bool(before or body.link)

        def is_ours(status: Any) -> bool:
            created = a_moment(status.get("created_at"))
            # An unreadable date counts as new: a check is better than a duplicate.
            is_new = created is None or created >= since - CLOCKS_DIFFER
            is_there = before == (status.get("in_reply_to_id") or "")
            content, link = str(status.get("content", "")), "" if before else body.link
            return is_new and is_there and is_of(content, text=text, link=link, whole=not is_known)

        me = self.account()[0]
        newest = partial(self._library.account_statuses, me, limit=STATUSES_LOOKED_AT, exclude_reblogs=True)
        found = self._read(newest, lambda answer: next(map(_status, filter(is_ours, answer.json)), None))
        if found and not is_known:
            raise Failed(Permanent(f"A status with the same text exists: {found.url or found.remote_id}"))
        return found

    def _read(self, request: Callable[[], Any], read: Callable[[ApiResponse], T], **options: Any) -> T:
        def answered() -> T:
            request()
            if self._api.transport.answer is None:
                raise UnreadableAnswer("none")
            return read(self._api.answer)

        found: T = self._api.ask(answered, **options)
        return found


def _sent(answer: ApiResponse) -> Sent:
    return _status(answer.json)


def _status(said: Any) -> Sent:
    return Sent(remote_id=an_id(said["id"]), url=a_web_url(said.get("url")))
