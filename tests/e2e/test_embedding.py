"""The copied embed code in a page of another site, in a browser.

The robot check in a browser: invisible with scripts, a question without.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from common.models import Tally
from subscriptions.admin import site
from subscriptions.links import page_url
from subscriptions.models import Consent, Notice, Subscribable, Subscription
from tests.factories import SubscribableFactory
from tests.servers.blog_page import BlogPage
from tests.subscriptions.questions import ASKED, answer_to

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SIZES = {"desk": (1280, 900), "phone": (390, 844)}


@pytest.fixture
def blog() -> Iterator[BlogPage]:
    with BlogPage() as page:
        yield page


@pytest.fixture
def newsletter(live_urls: str, blog: BlogPage) -> Subscribable:
    """Return a newsletter on another host than the blog, which may embed it."""
    made: Subscribable = SubscribableFactory(name="weekly", title="Cedar Weekly", embed_hosts=blog.host)
    return made


@pytest.fixture
def visit(browser: Any, blog: BlogPage) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens the blog."""
    contexts = []

    def opened(size: str = "desk", *, script: bool = True) -> Any:
        width, height = SIZES[size]
        # An emulated color_scheme would also apply inside frames, whatever the page around them uses.
        context = browser.new_context(
            viewport={"width": width, "height": height}, java_script_enabled=script, color_scheme="null"
        )
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.goto(blog.url)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("size", SIZES)
def test_the_widget_is_the_form_in_its_place(
    newsletter: Subscribable, blog: BlogPage, visit: Callable[..., Any], size: str
) -> None:
    blog.pasted = site.widget(newsletter, page_url(newsletter))
    page = visit(size)
    page.locator("iframe").wait_for(state="visible")
    assert not page.get_by_role("link", name="Subscribe to Cedar Weekly").is_visible()
    form = page.frame_locator("iframe[title='Subscribe to Cedar Weekly']")
    form.get_by_label("Your email address").fill("ada@localhost")
    form.get_by_role("button").click()
    form.locator(".error").wait_for()
    assert page.frames[-1].evaluate("document.activeElement.name") == "email"
    assert not Subscription.objects.exists()
    form.get_by_label("Your email address").fill("ada@example.org")
    form.get_by_role("button", name="Subscribe to Cedar Weekly").click()
    said = form.get_by_role("status")
    said.wait_for()
    assert "We’ve emailed ada@example.org" in said.inner_text()
    assert page.url == blog.url
    assert Subscription.objects.get().status == "unconfirmed"
    assert Consent.objects.get().how == "widget"
    frame = page.frames[-1]
    assert frame.evaluate("document.activeElement.textContent") == "Check your email"
    page.wait_for_function(
        "height => Math.abs(document.querySelector('iframe').offsetHeight - height) <= 1",
        arg=frame.evaluate("Math.ceil(document.body.getBoundingClientRect().height)"),
    )
    assert not page.context.cookies()


def test_where_robots_are_held_off_the_widget_solves_the_sum(
    newsletter: Subscribable, blog: BlogPage, visit: Callable[..., Any]
) -> None:
    Subscribable.objects.update(challenge=True)
    blog.pasted = site.widget(newsletter, page_url(newsletter))
    form = visit().frame_locator("iframe")
    form.get_by_label("Your email address").fill("ada@example.org")
    form.get_by_role("button").click()
    form.get_by_text("Check your email").or_(form.get_by_text("How much is")).first.wait_for()


def test_without_script_there_is_a_link(
    newsletter: Subscribable, blog: BlogPage, visit: Callable[..., Any]
) -> None:
    blog.pasted = site.widget(newsletter, page_url(newsletter))
    page = visit(script=False)
    page.get_by_role("link", name="Subscribe to Cedar Weekly").click()
    assert page.url == page_url(newsletter)


def test_on_a_site_that_is_not_the_newsletters_the_link_stays(
    newsletter: Subscribable, blog: BlogPage, visit: Callable[..., Any]
) -> None:
    Subscribable.objects.update(embed_hosts="other.example")
    blog.pasted = site.widget(newsletter, page_url(newsletter))
    refused: list[str] = []
    page = visit()
    page.on("console", lambda message: refused.append(message.text))
    page.reload()
    page.wait_for_timeout(300)
    assert any("frame-ancestors" in text for text in refused)
    assert page.get_by_role("link", name="Subscribe to Cedar Weekly").is_visible()
    assert page.locator("iframe").bounding_box()["height"] == 0


def test_the_form_is_light_on_light_pages_and_dark_on_dark_ones(
    newsletter: Subscribable, blog: BlogPage, visit: Callable[..., Any]
) -> None:
    blog.pasted = site.widget(newsletter, page_url(newsletter))
    page = visit()
    for ground, looks in (("#ffffff", "light"), ("#101214", "dark")):
        blog.ground = ground
        page.goto(blog.url)
        page.locator("iframe").wait_for(state="visible")
        is_dark = page.frames[-1].evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        assert is_dark == (looks == "dark")


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_the_plain_form_brings_the_reader_back(
    newsletter: Subscribable, blog: BlogPage, visit: Callable[..., Any], script: bool
) -> None:
    back = str(site.return_to(newsletter)).replace("https://", "http://")
    blog.pasted = site.form(newsletter, page_url(newsletter)).replace("</form>", f"{back}</form>")
    page = visit(script=script)
    page.get_by_label("Your email address").fill("ada@localhost")
    page.get_by_role("button", name="Subscribe to Cedar Weekly").click()
    page.locator(".error").wait_for()
    # Our own page's policy lets the answer lead back.
    page.get_by_label("Your email address").fill("ada@example.org")
    page.get_by_role("button", name="Subscribe to Cedar Weekly").click()
    page.wait_for_url(f"http://{blog.host}/thanks/")
    assert Subscription.objects.get().status == "unconfirmed"


def test_no_other_page_of_ours_is_framed(
    newsletter: Subscribable, blog: BlogPage, visit: Callable[..., Any]
) -> None:
    blog.pasted = f'<iframe src="{page_url(newsletter)}"></iframe>'
    page = visit()
    page.wait_for_timeout(300)
    assert "Cedar" not in page.frames[-1].content()


def test_a_script_of_the_blog_may_sign_up_and_one_elsewhere_may_not(
    newsletter: Subscribable, blog: BlogPage, visit: Callable[..., Any], live_urls: str
) -> None:
    post = """address => fetch(address, {method: "POST", headers: {"Content-Type": "application/json"},
        body: JSON.stringify({email: "ada@example.org"})}).then(answer => answer.status, () => "refused")"""
    address = f"{live_urls}/api/v1/subscribables/weekly/subscribe/"
    assert visit().evaluate(post, address) == 202
    Subscription.objects.all().delete()
    Subscribable.objects.update(embed_hosts="other.example")
    assert visit().evaluate(post, address) == "refused"
    assert not Subscription.objects.exists()


@pytest.fixture
def scripted(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    yield page
    context.close()


@pytest.fixture
def challenge_newsletter(live_server: Any, settings: Any) -> str:
    settings.SITE_URL = live_server.url
    SubscribableFactory(name="weekly", title="Example Weekly", challenge=True)
    return f"{live_server.url}/s/weekly/"


def ask(page: Any, address: str) -> None:
    page.goto(address)
    page.get_by_label("Your email address").fill("ada@example.org")
    page.get_by_role("button", name="Subscribe to Example Weekly").click()


def test_a_browser_solves_the_sum_within_seconds(scripted: Any, challenge_newsletter: str) -> None:
    begun = time.monotonic()
    ask(scripted, challenge_newsletter)
    scripted.get_by_role("heading", name="Check your email").wait_for()
    assert time.monotonic() - begun < 15
    assert Notice.objects.count() == 1
    assert Tally.objects.filter(scope="spent").count() == 1


def test_a_slip_is_mended_and_the_next_sum_solved(scripted: Any, challenge_newsletter: str) -> None:
    scripted.goto(challenge_newsletter)
    scripted.locator("form.sign-up").evaluate("form => form.noValidate = true")
    scripted.get_by_label("Your email address").fill("ada@")
    scripted.get_by_role("button", name="Subscribe to Example Weekly").click()
    scripted.locator(".error").first.wait_for()
    scripted.get_by_label("Your email address").fill("ada@example.org")
    scripted.get_by_role("button", name="Subscribe to Example Weekly").click()
    scripted.get_by_role("heading", name="Check your email").wait_for()
    assert Notice.objects.count() == 1


def test_without_a_script_there_is_a_question_to_answer(page: Any, challenge_newsletter: str) -> None:
    ask(page, challenge_newsletter)
    question = page.get_by_text(ASKED)
    assert not Notice.objects.exists()
    page.get_by_label(question.inner_text()).fill(answer_to(question.inner_text()))
    page.get_by_role("button", name="Subscribe to Example Weekly").click()
    assert "Check your email" in page.locator("main").inner_text()
    assert Notice.objects.count() == 1
