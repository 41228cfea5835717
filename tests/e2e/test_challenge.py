"""The robot check in a browser: invisible with scripts, a question without."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from common.models import Tally
from subscriptions.models import Notice
from tests.factories import SubscribableFactory
from tests.subscriptions.questions import ASKED, answer_to

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def scripted(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    yield page
    context.close()


@pytest.fixture
def newsletter(live_server: Any, settings: Any) -> str:
    settings.SITE_URL = live_server.url
    SubscribableFactory(name="weekly", title="Example Weekly", challenge=True)
    return f"{live_server.url}/s/weekly/"


def ask(page: Any, address: str) -> None:
    page.goto(address)
    page.get_by_label("Your email address").fill("ada@example.org")
    page.get_by_role("button", name="Subscribe to Example Weekly").click()


def test_a_browser_solves_the_sum_within_seconds(scripted: Any, newsletter: str) -> None:
    begun = time.monotonic()
    ask(scripted, newsletter)
    scripted.get_by_role("heading", name="Check your email").wait_for()
    assert time.monotonic() - begun < 15
    assert Notice.objects.count() == 1
    assert Tally.objects.filter(scope="spent").count() == 1


def test_a_slip_is_mended_and_the_next_sum_solved(scripted: Any, newsletter: str) -> None:
    scripted.goto(newsletter)
    scripted.locator("form.sign-up").evaluate("form => form.noValidate = true")
    scripted.get_by_label("Your email address").fill("ada@")
    scripted.get_by_role("button", name="Subscribe to Example Weekly").click()
    scripted.locator(".error").first.wait_for()
    scripted.get_by_label("Your email address").fill("ada@example.org")
    scripted.get_by_role("button", name="Subscribe to Example Weekly").click()
    scripted.get_by_role("heading", name="Check your email").wait_for()
    assert Notice.objects.count() == 1


def test_without_a_script_there_is_a_question_to_answer(page: Any, newsletter: str) -> None:
    ask(page, newsletter)
    question = page.get_by_text(ASKED)
    assert not Notice.objects.exists()
    page.get_by_label(question.inner_text()).fill(answer_to(question.inner_text()))
    page.get_by_role("button", name="Subscribe to Example Weekly").click()
    assert "Check your email" in page.locator("main").inner_text()
    assert Notice.objects.count() == 1
