"""The image, and a browser without scripts. Tests are skipped if something is missing."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests import services
from tests.e2e.image import Stage, build


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """Open a page of a phone, without JavaScript."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Build the image of the Dockerfile, which takes a minute."""
    folder = tmp_path_factory.mktemp("image")
    try:
        stage = build(folder)
    except services.Missing as missing:
        pytest.skip(f"Missing: {missing}")
    yield stage
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def as_fast_as_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the typing speed check: a driven browser fills in forms at once."""
    monkeypatch.setattr("subscriptions.subscribers.antispam.QUICKEST", timedelta(0))
    monkeypatch.setattr("subscriptions.subscribers.antispam.QUESTION_READ", timedelta(0))
