import json
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from channels.activitypub.message import ACTIVITY_JSON
from channels.activitypub.signatures import SignedRequest, verify
from common.html.clean import clean
from demo.answer import JSON, ApiRequest, PageAnswer
from demo.fediverse import FEDIVERSE, NAME, Ada
from demo.timeline import Timeline, TimelinePost
from demo.timeline_pages import POLICY, article, frame, linked, to_services

MARKS = {"Update": "edited", "Delete": "deleted"}
LONGEST_REPLY, MOST_REPLIES = 500, 10
FEDIVERSE_POLICY = POLICY.replace("form-action 'none'", "form-action 'self'")
Deliver = Callable[[str, bytes, Mapping[str, str]], tuple[int, bytes]]
WORDS = "The demo serves this page. Ada follows a newsletter like an account, and gets its issues."
NOTHING_SENT = "Nothing was sent: the reply is empty, or the post isn’t here any more."
DELETED = '<p class="text">The newsletter deleted this.</p>'
REQUESTED = '<p class="nothing">Ada has asked to follow it. The newsletter accepts soon.</p>'
NOTHING = '<p class="nothing">Nothing received yet.</p>'
FOLLOW = """<article><form method="post"><b>{handle}</b>
<button name="do" value="{do}">{words}</button></form></article>"""
FORM = """<form method="post"><input type="hidden" name="post" value="{number}">
<input name="text" maxlength="{longest}" autocomplete="off" aria-label="Your reply" required>
<button name="do" value="reply">Reply</button>
<button name="do" value="{do}" formnovalidate>{words}</button></form>"""


class FediversePages:
    """Ada's page and her inbox. `link` is the newsletter in the admin."""

    def __init__(self, folder: Path, timeline: Timeline, deliver: Deliver, *, link: str = "") -> None:
        self.folder, self.timeline, self.deliver, self.link = folder, timeline, deliver, link

    def answer(self, request: ApiRequest) -> PageAnswer | None:
        """Return None for other addresses, and before there is a newsletter to follow."""
        path, ada = request.path.strip("/"), Ada.load(self.folder)
        if ada is None or path not in (FEDIVERSE, f"{FEDIVERSE}/inbox"):
            return None
        if path != FEDIVERSE:
            return PageAnswer(b"", JSON, self._received(ada, request))
        if request.method == "POST":
            form = dict(parse_qsl(request.body.decode(errors="replace")))
            return PageAnswer(b"", status=403) if request.is_foreign else self._done(ada, form)
        if "json" in request.headers.get("Accept", ""):
            return PageAnswer(json.dumps(ada.document()).encode(), ACTIVITY_JSON)
        return self._shown(ada)

    def _received(self, ada: Ada, request: ApiRequest) -> int:
        headers = {name.lower(): value for name, value in request.headers.items()}
        signed = SignedRequest("POST", f"{ada.home}{request.url}", headers, request.body)
        try:
            # The clocks of the replay differ by hours.
            verify(signed, key=ada.site_key, now=parsedate_to_datetime(headers["date"]))
        except (KeyError, ValueError):
            return 401
        activity = json.loads(request.body)
        document, posts = activity["object"], self.timeline.posts(FEDIVERSE)
        post = next((row for row in posts if row.body and row.body["object"]["id"] == document["id"]), None)
        match activity["type"]:
            case "Accept" if ada.follows is False:
                ada.save(self.folder, follows=True)
            case "Create" if post is None:
                self.timeline.add(FEDIVERSE, {"object": document})
            case "Update" | "Delete" as kind if post:
                self._change(post, object=document, mark=MARKS[kind])
        return 202

    def _change(self, post: TimelinePost, **changes: Any) -> None:
        self.timeline.change(post, {**(post.body or {}), **changes})

    def _done(self, ada: Ada, form: Mapping[str, str]) -> PageAnswer:
        post = self.timeline.find(FEDIVERSE, form.get("post", ""))
        body: dict[str, Any] = (post.body if post else None) or {}
        about, text = body.get("object", {}).get("id"), form.get("text", "").strip()[:LONGEST_REPLY]
        follow, like = ada.activity("Follow", ada.followed), ada.activity("Like", about)
        changes: dict[str, Any] = {}
        match form.get("do"):
            case "follow":
                activity = follow
                # It may be accepted before the request has an answer.
                ada.save(self.folder, follows=False)
            case "unfollow":
                activity = ada.activity("Undo", follow)
                ada.save(self.folder, follows=None)
            case "like" if post:
                activity, changes = like, {"like": like["id"]}
            case "unlike" if post:
                activity, changes = ada.activity("Undo", {**like, "id": body.get("like")}), {"like": ""}
            case "reply" if post and text:
                activity = ada.reply(about, f"<p>{escape(text)}</p>", url=f"{ada.id}#{post.number}")
                changes = {"replies": [*body.get("replies", ()), text][-MOST_REPLIES:]}
            case _:
                return self._shown(ada, wrong=NOTHING_SENT)
        request, headers = ada.signed(activity, now=self.timeline.clock())
        try:
            status, _ = self.deliver(request.url, request.body, headers)
        except OSError:
            status = 0
        if status != 202:
            ada.save(self.folder)
            return self._shown(ada, wrong=f"The site did not take it. It answered {status or 'nothing'}.")
        if post:
            self._change(post, **changes)
        return PageAnswer(b"", status=303, location=f"/{FEDIVERSE}/{f'#{post.number}' if post else ''}")

    def _shown(self, ada: Ada, *, wrong: str = "") -> PageAnswer:
        do, words = ("follow", "Follow") if ada.follows is None else ("unfollow", "Unfollow")
        profile = FOLLOW.format(handle=escape(ada.handle), do=do, words=words)
        posts = "\n".join(_drawn(post) for post in self.timeline.posts(FEDIVERSE))
        html = frame(
            f"@{NAME} in the Fediverse",
            wrong or WORDS,
            profile + (REQUESTED if ada.follows is False else "") + (posts or NOTHING),
            links=to_services(FEDIVERSE, self.link, "The followers in the admin"),
            service=FEDIVERSE,
        )
        return PageAnswer(html.encode(), status=400 if wrong else 200, policy=FEDIVERSE_POLICY)


def _drawn(post: TimelinePost) -> str:
    body: dict[str, Any] = post.body or {}
    document, mark = body["object"], body.get("mark", "")
    if mark == "deleted":
        return article(post, "Harbour Notes", mark, DELETED)
    about = f"{document['type'].lower()}{mark and f' · {mark}'}"
    url, title = str(document["url"]), escape(document.get("name", ""))
    # Mastodon shows an article's title and summary.
    text = document["summary"] if title else document["content"]
    content = f'<p class="text"><b><a href="{escape(url)}">{title}</a></b></p>' if title else ""
    content += f'<div class="html">{clean(text, base=url)}</div>'
    for picture in document.get("attachment", ()):
        content += f'<img src="{escape(picture["url"])}" alt="{escape(picture["name"])}">'
    if tags := " ".join(tag["name"] for tag in document.get("tag", ())):
        content += f'<p class="text">{linked(tags)}</p>'
    for reply in body.get("replies", ()):
        content += f'<p class="text"><b>Ada:</b> {escape(reply)}</p>'
    do, words = ("unlike", "Liked") if body.get("like") else ("like", "Like")
    form = FORM.format(number=escape(post.number), longest=LONGEST_REPLY, do=do, words=words)
    return article(post, "Harbour Notes", about, content + form)
