"""“Corrected since our last issue”: from the feed to the letter, once."""

from collections.abc import Iterator
from typing import Any

import pytest

from delivery.issues import complete
from delivery.issues.complete import complete_due
from delivery.issues.contents import Collected, Telling
from delivery.issues.corrected import record_told
from delivery.issues.draft_edits import as_it_stands, reword_draft
from delivery.models import Issue, ToldCorrection
from delivery.views.issues import shown_of
from feeds.models import ItemPage
from feeds.polling.page_text import robots_texts
from feeds.polling.whole import read_pages
from subscriptions.collections.assign import assign_final
from subscriptions.models import Assignable
from subscriptions.rules.edits import Wording
from tests.delivery.collecting import a_newsletter
from tests.feeds.watched import Blog, at, post
from tests.servers.feed_server import FeedServer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]

OLD = [post(f"old{number}", published=at(-60 * (number + 1))) for number in range(4)]
HEADING = "Corrected since our last issue"


def a(text: str) -> dict[str, Any]:
    return post("a", title="Bees", published=at(5), content=f"<p>{text}</p>")


FIRST, SECOND, THIRD = a("The bee sleeps."), a("The bee <b>works</b>."), a("The bee works hard.")
B, C, D = (post(name, published=at(minute)) for name, minute in (("b", 100), ("c", 200), ("d", 300)))


class Sent(Blog):
    """Blog whose posts a newsletter sends, each alone."""

    def start(self, **changes: Any) -> None:
        self.show(*OLD)
        self.watch()
        self.read(0)
        given = {"tells_corrections": True, "arrangement": "each", "title": "Hive", **changes}
        self.newsletter = a_newsletter(feeds=[self.feed], **given)
        self.publish(5, FIRST)

    def publish(self, minute: float, *posts: dict[str, Any]) -> Issue | None:
        """Show these, and send what settles within the hour. Return the newest issue."""
        self.show(*posts, *OLD)
        for later in (0, 20, 40, 60):
            self.read(minute + later)
            now = at(minute + later)
            assign_final(clock=lambda now=now: now)  # type: ignore[misc]
            complete_due(clock=lambda now=now: now)  # type: ignore[misc]
        return Issue.objects.order_by("-pk").first()


@pytest.fixture
def blog() -> Iterator[Sent]:
    with FeedServer() as server:
        yield Sent(server)


def issued(blog: Sent, minute: float, *posts: dict[str, Any]) -> Issue:
    before = Issue.objects.count()
    issue = blog.publish(minute, *posts)
    assert issue is not None
    assert Issue.objects.count() == before + 1
    return issue


def test_a_correction_is_told_once_with_its_passage(blog: Sent) -> None:
    blog.start()
    blog.publish(70, SECOND)
    # It makes no issue.
    assert Issue.objects.count() == 1
    issue = issued(blog, 150, B, SECOND)
    assert "<del>sleeps</del> <ins>works</ins>" in issue.html
    assert f"{HEADING}\n" in issue.text
    assert issue.text.count("Bees") == 1
    assert "The bee ~sleeps~ works." in issue.text.replace("\n", " ")
    assert issue.corrected in str(shown_of(issue).note_foot)
    again = issued(blog, 250, C, B, SECOND)
    assert HEADING not in again.html + again.text
    assert again.corrected == ""
    assert ToldCorrection.objects.count() == 1


def test_a_correction_of_a_correction_shows_what_is_new(blog: Sent) -> None:
    blog.start()
    issued(blog, 150, B, SECOND)
    assert "<ins>works</ins>" in Issue.objects.get(issue_items__item__guid="b").html
    issue = issued(blog, 250, C, B, THIRD)
    assert "works<ins> hard</ins>." in issue.html
    assert "sleeps" not in issue.html


def test_of_a_post_sent_with_its_pages_text_the_changed_excerpt_is_told(blog: Sent) -> None:
    text = "<p>The bee sleeps in a long text, which only its page has.</p>" * 9
    link = blog.server.serve("/a", f"<article>{text}</article>", headers={"Content-Type": "text/html"})
    first, second = ({**each, "link": link} for each in (FIRST, SECOND))
    robots_texts.clear()
    blog.show(*OLD)
    blog.watch(fetch_whole=True)
    blog.read(0)
    blog.newsletter = a_newsletter(feeds=[blog.feed], tells_corrections=True, arrangement="each")
    blog.show(first, *OLD)
    blog.read(5)
    assert read_pages(clock=lambda: at(5)) == 1
    blog.publish(10, first)
    assert "which only its page has" in Issue.objects.get().html
    blog.publish(70, second)
    ItemPage.objects.filter(readings=0).update(due_at=None)
    blog.show(B, second, *OLD)
    blog.read(150)
    ItemPage.objects.filter(readings=0).update(due_at=None)
    issue = issued(blog, 151, B, second)
    assert "<del>sleeps</del> <ins>works</ins>" in issue.html
    assert "which only its page has" not in issue.html


@pytest.mark.parametrize(
    ("changes", "second"),
    [
        pytest.param({"tells_corrections": False}, SECOND, id="switched off"),
        pytest.param({}, a("The <i>bee</i> sleeps."), id="the same words"),
        pytest.param({"channel": "sms"}, SECOND, id="a channel without html"),
    ],
)
def test_nothing_is_told_without_need(blog: Sent, changes: dict[str, Any], second: dict[str, Any]) -> None:
    blog.start(**changes)
    blog.publish(150, B, second)
    assert HEADING not in "".join(Issue.objects.values_list("html", flat=True))
    assert not ToldCorrection.objects.exists()


def test_a_withdrawn_post_is_not_told(blog: Sent) -> None:
    blog.start()
    blog.publish(70, SECOND)
    assert HEADING not in issued(blog, 150, B).html


def test_the_newsletters_rules_change_the_passage(blog: Sent) -> None:
    blog.start()
    blog.newsletter.post_rules.create(action="replace", field="any", pattern="works", replacement="rests")
    assert "<ins>rests</ins>" in issued(blog, 150, B, SECOND).html


def test_previews_show_it_and_a_draft_keeps_it(blog: Sent) -> None:
    blog.start(approval="click")
    Issue.objects.update(published_at=at(60))
    blog.publish(70, SECOND)
    blog.show(B, SECOND, *OLD)
    for minute in (150, 170, 190):
        blog.read(minute)
    assign_final(clock=lambda: at(190))
    _, rendered, _ = as_it_stands(Assignable.objects.get(), now=at(190))
    assert rendered is not None
    assert HEADING in rendered.html
    assert not ToldCorrection.objects.exists()
    complete_due(clock=lambda: at(190))
    draft = Issue.objects.order_by("pk").last()
    assert draft is not None
    reword_draft(issue_id=draft.pk, wording=Wording(note_foot="Bye"), now=at(191))
    draft.refresh_from_db()
    assert "Bye" in draft.html
    assert HEADING in draft.html
    assert ToldCorrection.objects.get().issue == draft


def test_of_issues_made_together_one_tells(blog: Sent) -> None:
    blog.start()
    blog.publish(70, SECOND)
    blog.publish(150, C, B, SECOND)
    assert Issue.objects.count() == 3
    assert [HEADING in issue.html for issue in Issue.objects.order_by("pk")].count(True) == 1


def test_a_worker_that_dies_or_loses_tells_nothing(blog: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    blog.start()
    blog.publish(70, SECOND)

    def die(issues: Any) -> bool:
        assert record_told(issues)
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(complete, "record_told", die)
        with pytest.raises(SystemExit):
            blog.publish(150, B, SECOND)
    assert not ToldCorrection.objects.exists()
    with monkeypatch.context() as patched:
        patched.setattr(complete, "record_told", lambda issues: False)
        Assignable.objects.update(seal_token=None, seal_until=None)
        complete_due(clock=lambda: at(200))
    assert Issue.objects.count() == 1
    complete_due(clock=lambda: at(400))
    assert HEADING in Issue.objects.get(issue_items__item__guid="b").html
    assert ToldCorrection.objects.count() == 1


def test_what_was_told_meanwhile_is_refused(blog: Sent) -> None:
    blog.start()
    issue = issued(blog, 150, B, SECOND)
    told = ToldCorrection.objects.get()
    other = Issue.objects.exclude(pk=issue.pk).get()

    def is_recorded(before: int) -> bool:
        telling = Telling(blog.newsletter.pk, told.item_id, at(200), before)
        return record_told([(other, Collected(blog.newsletter, "x", None, None, (), told=(telling,)))])

    assert not is_recorded(0)
    assert is_recorded(told.pk)
