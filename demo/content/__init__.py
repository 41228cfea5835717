from demo.content import before, lighthouse, live, week1, week2, week3, week4, week5
from demo.content.post import Post

BLOG_POSTS: tuple[Post, ...] = (
    *before.BEFORE,
    *week1.WEEK_1,
    *week2.WEEK_2,
    *week3.WEEK_3,
    *week4.WEEK_4,
    *week5.WEEK_5,
)
LIGHTHOUSE_POSTS = lighthouse.POSTS
LIVE = live.NOTES
CORRECTED = next(post for post in BLOG_POSTS if post.first_body)
WITHDRAWN = next(post for post in BLOG_POSTS if post.withdrawn)
