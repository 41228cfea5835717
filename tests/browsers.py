"""Pytest plugin: Debian's Chromium, driven by Playwright, once in each process."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests import services

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[tuple[Any, Any]]:
    """Yield the browser, and the event loop of its driver."""
    path = services.program(*services.CHROMIUM)
    if path is None:
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        loop = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        yield launched, loop
        asyncio._set_running_loop(loop)
        launched.close()


@pytest.fixture
def browser(chromium: tuple[Any, Any]) -> Iterator[Any]:
    """Yield the browser. Only meanwhile this thread has a running loop, which Django would not allow."""
    launched, loop = chromium
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    asyncio._set_running_loop(loop)
    yield launched
    asyncio._set_running_loop(None)
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
