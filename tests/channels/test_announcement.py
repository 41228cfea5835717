"""The data of a post for bridges: a title from its first words, each picture once, sensitivity."""

from typing import Any

from channels.announcement import PostImage, announcement_of
from channels.wording import parts_of
from feeds.parsing.entry import Entry, Media
from tests.channels.mastodon.letters import message
from tests.channels.telegram.letters import message as telegram_message
from tests.contracts.bridge import letter

PICTURE = Media("https://i.example/a.png", "image/png", alt="A bee")
STATUS = Entry(
    guid="1",
    link="https://social.example/@ada/1",
    content="<p><strong>Content warning:</strong> bees</p><hr><p>They sting.</p>",
    media=(PICTURE,),
    sensitive=True,
    warning="Content warning: bees",
)


def words(entry: Entry, template: str = "") -> str:
    said = announcement_of(letter(entries=(entry,)))
    return "".join(part.text for part in parts_of(said, template))


def test_a_post_without_a_title_is_announced_by_its_first_words() -> None:
    note = Entry(guid="1", link="https://b.example/1", content="<p>Saw a heron</p><p>&amp; its young.</p>")
    assert words(note).endswith(" New Post: Saw a heron & its young. https://b.example/1")
    assert words(note, "{title}") == "Saw a heron & its young."
    assert words(note, "{title|A note} {link}") == "A note https://b.example/1"
    digest = announcement_of(letter(entries=(note,), is_digest=True))
    assert [line.title for line in digest.lines] == ["Saw a heron & its young."]
    assert " New Untitled Post at " in words(Entry(guid="1", link="https://b.example/1"))


def test_only_the_warning_of_a_hidden_text_is_announced() -> None:
    said = announcement_of(letter(entries=(STATUS,)))
    assert (said.title, said.summary, said.own_summary) == (STATUS.warning,) * 3
    assert "sting" not in words(STATUS, "{title} {summary}")


def test_sensitive_pictures_go_only_to_services_that_can_hide_them() -> None:
    of: dict[str, Any] = {"entries": (STATUS,)}
    said = announcement_of(letter(**of))
    picture = PostImage(PICTURE.url, "A bee")
    assert (said.images, said.sensitive_images) == ((), (picture,))
    status = message(**of).body
    assert (status.images, status.sensitive, status.spoiler) == ((picture,), True, STATUS.warning)
    photo = telegram_message(letter(**of), photo="on").body
    assert (photo.picture, photo.has_spoiler) == (PICTURE.url, True)
    digest = announcement_of(letter(entries=(STATUS, STATUS), is_digest=True))
    assert (digest.images, digest.sensitive_images) == ((), ())


def test_a_thumbnail_is_not_posted_beside_the_picture() -> None:
    post = Entry(
        guid="1", title="T", link="https://b.example/1", image="https://i.example/t.jpg", media=(PICTURE,)
    )
    assert announcement_of(letter(entries=(post,))).images == (PostImage(PICTURE.url, "A bee"),)
