"""A person who presses Connect in the admin, answers at a fake service, and returns."""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
import requests
from bs4 import BeautifulSoup
from django.test import Client

from channels.http.transport import Transport
from tests.servers.api_server import ApiServer

REFRESH = re.compile(r'http-equiv="refresh" content="0;url=([^"]+)"')


def stand_in(monkeypatch: pytest.MonkeyPatch, server: ApiServer, *hosts: str) -> None:
    """Redirect requests for the service's hosts to the fake server."""
    usual = Transport.request

    def request(self: Transport, method: str, url: str, **options: Any) -> Any:
        parts = urlsplit(url)
        return usual(
            self,
            method,
            server.url + url.split(parts.netloc, 1)[1] if parts.netloc in hosts else url,
            **options,
        )

    monkeypatch.setattr(Transport, "request", request)


@dataclass
class Person:
    """Browser of an admin, and the fake service."""

    client: Client
    # Any server; only its URL is used.
    server: Any

    def presses(self, url: str, typed: dict[str, Any]) -> str:
        """Return the service's URL that the form leads to; empty if it was refused."""
        page = self.client.post(url, {**typed, "act": "ask"}, follow=True).content.decode()
        found = REFRESH.search(page)
        self.page = page
        return unescape(found[1]) if found else ""

    def answers(self, there: str, word: str = "Yes") -> str:
        """Return where the service redirects to after that answer on its page."""
        address = self.server.url + there.split(urlsplit(there).netloc, 1)[1]
        page = requests.get(address, timeout=5)
        links = {link.text: link["href"] for link in BeautifulSoup(page.content, "html.parser").find_all("a")}
        assert word in links, page.text
        back = requests.get(urljoin(address, str(links[word])), timeout=5, allow_redirects=False)
        return back.headers["Location"]

    def comes_back(self, url: str) -> Any:
        parts = urlsplit(url)
        return self.client.get(f"{parts.path}?{parts.query}")

    def connects(self, url: str, typed: dict[str, Any], word: str = "Yes") -> str:
        """Do all steps; return the text of the last page."""
        there = self.presses(url, typed)
        assert there, BeautifulSoup(self.page, "html.parser").get_text(" ", strip=True)
        answer = self.comes_back(self.answers(there, word))
        assert answer.status_code == 302
        self.led_to = answer.headers["Location"]
        page = self.client.get(self.led_to, follow=True).content
        self.page = page.decode()
        return BeautifulSoup(page, "html.parser").get_text(" ", strip=True)
