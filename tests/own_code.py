"""Hooks of an operator as objects, which tests name as tests.own_code.NAME."""

from types import SimpleNamespace
from typing import Any

SAID: list[Any] = []


def _post_given(*, context: Any, post: Any) -> Any:
    SAID.append((context, post))
    return True


def _fails(**given: Any) -> Any:
    raise RuntimeError("out of order")


plain = SimpleNamespace(filter=_post_given)
refuses = SimpleNamespace(filter=lambda *, context, post: False)
fails = SimpleNamespace(filter=lambda *, context, post: _fails())
no_answer = SimpleNamespace(filter=lambda *, context, post: None)

last_first = SimpleNamespace(contents=lambda *, context, posts: reversed(posts))
only_first = SimpleNamespace(contents=lambda *, context, posts: posts[:1])
nothing = SimpleNamespace(contents=lambda *, context, posts: [])
twice = SimpleNamespace(contents=lambda *, context, posts: [*posts, *posts])
contents_fail = SimpleNamespace(contents=lambda *, context, posts: _fails())
generator_fails = SimpleNamespace(contents=lambda *, context, posts: (_fails() for post in posts))
no_posts = SimpleNamespace(contents=lambda *, context, posts: ["post"])
wrong_title = SimpleNamespace(contents=lambda *, context, posts: [post.with_title(None) for post in posts])
rewrites = SimpleNamespace(
    contents=lambda *, context, posts: [
        post.with_title(f"{context.title}\n{post.title}").with_html(
            f'<p onclick="x()">{post.title}</p><script>x()</script>'
        )
        for post in posts
    ]
)

subject = SimpleNamespace(subject=lambda *, context, posts: f"{context.newsletter}\r\nBcc: {len(posts)}")
usual_subject = SimpleNamespace(subject=lambda *, context, posts: None)
subject_fails = SimpleNamespace(subject=lambda *, context, posts: _fails())
subject_number = SimpleNamespace(subject=lambda *, context, posts: 7)

always = SimpleNamespace(announce_restriction=lambda *, context, post: "Always")
never = SimpleNamespace(announce_restriction=lambda *, context, post: "never")
as_published = SimpleNamespace(announce_restriction=lambda *, context, post: None)
sometimes = SimpleNamespace(announce_restriction=lambda *, context, post: "sometimes")

words = SimpleNamespace(
    mastodon_announcement=lambda *, context, post: f"{post.title} by @ada\n\n{post.link}\n#bees"
)
no_words = SimpleNamespace(mastodon_announcement=lambda *, context, post: None)

params = SimpleNamespace(
    template_params=lambda *, context, recipient: {"greeting": f"{context.title}: {recipient.name}"}
)
wrong_params = SimpleNamespace(template_params=lambda *, context, recipient: {"greeting": 7})
