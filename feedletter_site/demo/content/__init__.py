"""The posts of the sample blog, oldest first."""

from feedletter_site.demo.content import before, live, week1, week2, week3, week4, week5
from feedletter_site.demo.content.post import Post

POSTS: tuple[Post, ...] = (
    *before.POSTS,
    *week1.POSTS,
    *week2.POSTS,
    *week3.POSTS,
    *week4.POSTS,
    *week5.POSTS,
)
LIVE = live.NOTES
CORRECTED = next(post for post in POSTS if post.first_body)
WITHDRAWN = next(post for post in POSTS if post.withdrawn)
