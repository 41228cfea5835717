"""What a post had in frames, as links in words of our own."""

from urllib.parse import urlsplit

from bs4 import BeautifulSoup


def contents(*, context, posts):
    return [post.with_html(with_plain_links(post.html)) for post in posts]


def with_plain_links(html):
    """Each link that stands for a frame becomes “Embedded in the post: its address”."""
    soup = BeautifulSoup(html, "html.parser")
    for paragraph in soup.find_all("p"):
        link = paragraph.find("a", href=True)
        if link and stands_for_a_frame(paragraph, link):
            paragraph.name = "blockquote"
            link.string = link["href"]
            link.insert_before("Embedded in the post: ")
    return str(soup)


def stands_for_a_frame(paragraph, link):
    """Feedletter makes of a frame a link alone in its paragraph: ▶ and a title, or the name of its server."""
    text = link.get_text().strip()
    server = urlsplit(link["href"]).netloc.removeprefix("www.")
    return paragraph.get_text().strip() == text and (text.startswith("▶") or text == server)
