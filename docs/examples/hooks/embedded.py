"""Show films and maps of a post as quoted addresses."""

from urllib.parse import urlsplit

from bs4 import BeautifulSoup


def contents(*, context, posts):
    return [post.with_html(with_plain_links(post.html)) for post in posts]


def with_plain_links(html):
    """Replace each link to a frame by “Embedded in the post: ADDRESS”."""
    soup = BeautifulSoup(html, "html.parser")
    for paragraph in soup.find_all("p"):
        link = paragraph.find("a", href=True)
        if link and replaces_a_frame(paragraph, link):
            paragraph.name = "blockquote"
            link.string = link["href"]
            link.insert_before("Embedded in the post: ")
    return str(soup)


def replaces_a_frame(paragraph, link):
    """Feedletter's links to frames are alone in a paragraph, with ▶ and a title, or the server's name."""
    text = link.get_text().strip()
    server = urlsplit(link["href"]).netloc.removeprefix("www.")
    return paragraph.get_text().strip() == text and (text.startswith("▶") or text == server)
