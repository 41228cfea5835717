"""HTTP client for addresses that strangers choose."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
from django.conf import settings
from requests.cookies import RequestsCookieJar
from urllib3.exceptions import HTTPError

from common.net.addresses import Network, Resolver
from common.net.errors import AddressRefused, AnswerTooLarge, FetchError, Unreached, explanation, host_of
from common.net.transport import CheckedAdapter, budget, current_deadline
from common.net.web_slots import take_slot
from common.transactions import forbid_open_transaction

__all__ = [
    "AddressRefused",
    "AnswerTooLarge",
    "FetchError",
    "Fetched",
    "SafeClient",
    "SafeSession",
    "Unreached",
    "client",
]

STATUSES = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}
MAX_COOKIES = 20
# Clients should support this (RFC 6265 §6.1).
MAX_LENGTH = 4096
MAX_REDIRECTS = 5
MAX_BYTES = 5_000_000
REQUEST_SECONDS = 20.0
READ_BYTES = 64 * 1024
BEGINNING = 4096
# Keep method and body.
SAME_REQUEST = (307, 308)
# May also be sent to another host.
NEUTRAL_HEADERS = frozenset({"accept", "accept-language"})
# A name may occur several times.
Form = Mapping[str, str] | list[tuple[str, str]]


def target_of(response: requests.Response) -> str | None:
    """Return the absolute address; None without a redirect. Raises ValueError if it is invalid."""
    location = response.headers.get("Location") if response.status_code in STATUSES else None
    # Headers are decoded as Latin-1, but servers send UTF-8.
    return urljoin(response.url, location.encode("latin-1").decode("utf-8", "replace")) if location else None


def keeps_secrets(url: str, target: str) -> bool:
    here, there = urlsplit(url), urlsplit(target)
    upgraded = (here.scheme, there.scheme) == ("http", "https") and not (here.port or there.port)
    same_port = (here.port or _PORTS.get(here.scheme)) == (there.port or _PORTS.get(there.scheme))
    return here.hostname == there.hostname and (upgraded or (here.scheme == there.scheme and same_port))


class Cookies:
    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], dict[str, str]] = {}

    def __bool__(self) -> bool:
        return any(self._kept.values())

    def keep(self, url: str, response: requests.Response) -> None:
        ours = self._kept.setdefault(_place(urlsplit(url)), {})
        for cookie in response.cookies:
            text = f"{cookie.name}={cookie.value or ''}"
            if len(text) <= MAX_LENGTH and text.isascii() and text.isprintable():
                ours[cookie.name] = text
        for name in list(ours)[MAX_COOKIES:]:
            del ours[name]

    def header(self, url: str) -> dict[str, str]:
        ours = self._kept.get(_place(urlsplit(url)))
        return {"Cookie": "; ".join(ours.values())} if ours else {}


def _place(parts: SplitResult) -> tuple[str, str]:
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


@dataclass(frozen=True, slots=True)
class Fetched:
    """`redirects` has the status and target of each; `url` is the last."""

    status: int
    url: str
    headers: dict[str, str]
    body: bytes
    redirects: tuple[tuple[int, str], ...] = ()


class _NoCookies(RequestsCookieJar):
    def extract_cookies(self, response: Any, request: Any) -> None:
        """Take none. Asking a policy about each answer took a fifth of the time of a request."""


class SafeSession(requests.Session):
    """Session that calls only public addresses, within 20 seconds and 5 MB.

    With `stream=True` the caller must limit the body.
    """

    def __init__(
        self,
        adapter: CheckedAdapter,
        *,
        user_agent: str,
        verify: bool | str = True,
        seconds: float = REQUEST_SECONDS,
    ) -> None:
        super().__init__()
        self.trust_env = False
        self.verify = verify
        self.max_redirects = MAX_REDIRECTS
        self.headers["User-Agent"] = user_agent
        self.cookies = _NoCookies()
        self.mount("http://", adapter)
        self.mount("https://", adapter)
        self.hooks["response"].append(_read_within_budget)
        self._seconds = seconds

    def prepare_request(self, request: requests.Request) -> requests.PreparedRequest:
        """Merge only what our sessions have. Merging empty settings took a tenth of a poll's time."""
        prepared = requests.PreparedRequest()
        prepared.prepare_method(str(request.method).upper())
        prepared.prepare_url(request.url, request.params)
        prepared.prepare_headers({**self.headers, **request.headers})
        prepared._cookies = _NoCookies()  # type: ignore[attr-defined]
        prepared.prepare_body(request.data, request.files, request.json)
        prepared.prepare_auth(request.auth or self.auth, prepared.url)
        prepared.prepare_hooks(self.hooks)
        return prepared

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        return {"stream": bool(stream), "verify": self.verify if verify is None else verify, "cert": cert}

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Raises what requests raises, FetchError, NetworkInTransaction and ServerBusy."""
        forbid_open_transaction()
        take_slot()
        with budget(min(_seconds(kwargs.get("timeout"), self._seconds), self._seconds), MAX_BYTES) as ours:
            kwargs["timeout"] = ours.seconds_left
            return super().send(request, **kwargs)


class SafeClient:
    """One session per thread.

    `allow` has private networks that may be called, `verify` is as in requests.
    """

    def __init__(
        self,
        *,
        allow: Sequence[Network] = (),
        user_agent: str = "Feedletter",
        resolve: Resolver | None = None,
        verify: bool | str = True,
    ) -> None:
        self._allow, self._resolve = tuple(allow), resolve
        self._options: dict[str, Any] = {"user_agent": user_agent, "verify": verify}
        self._local = threading.local()

    def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = REQUEST_SECONDS,
        max_bytes: int = MAX_BYTES,
    ) -> Fetched:
        """Return the response, with any status, after up to five redirects. Raises FetchError.

        `timeout` is for everything, in seconds; `max_bytes` is for the decompressed body.
        """
        with _explained(url, timeout), budget(timeout, max_bytes):
            redirects: list[tuple[int, str]] = []
            cookies, sent = Cookies(), dict(headers or {})
            while True:
                response = self._session().get(
                    _checked(url), headers={**sent, **cookies.header(url)}, allow_redirects=False
                )
                target = target_of(response)
                if target is None:
                    return _fetched(response, redirects)
                cookies.keep(url, response)
                _count(redirects, response, target, wants_cookies=bool(cookies))
                sent = _for_target(sent, url, target)
                url = target

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        data: Form | None = None,
        json: Any = None,
        timeout: float = REQUEST_SECONDS,
        max_bytes: int = MAX_BYTES,
    ) -> Fetched:
        """Return the response, with any status. Raises FetchError.

        `data` is a form in UTF-8. Only 307 and 308 are followed (RFC 9110 §15.4.8, §15.4.9), not from https
        to http, because a body may hold secrets. Another host gets only NEUTRAL_HEADERS.
        """
        with _explained(url, timeout), budget(timeout, max_bytes):
            redirects: list[tuple[int, str]] = []
            sent = dict(headers or {})
            while True:
                response = self._session().request(
                    method, _checked(url), headers=sent, data=data, json=json, allow_redirects=False
                )
                target = target_of(response) if response.status_code in SAME_REQUEST else None
                if target is None:
                    return _fetched(response, redirects)
                _count(redirects, response, target)
                if (urlsplit(url).scheme, urlsplit(target).scheme) == ("https", "http"):
                    raise FetchError(
                        f"{host_of(url)} wants it sent on without encryption, which is not done."
                    )
                sent = _for_target(sent, url, target)
                url = target

    def post(
        self, url: str, *, data: Form, timeout: float = REQUEST_SECONDS, max_bytes: int = MAX_BYTES
    ) -> Fetched:
        return self.request("POST", url, data=data, timeout=timeout, max_bytes=max_bytes)

    def push(
        self, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float = REQUEST_SECONDS
    ) -> Fetched:
        """Return the response, even a redirect. Raises FetchError.

        Keeps only the start of its body, and ignores one that breaks off.
        """
        with _explained(url, timeout), budget(timeout, MAX_BYTES):
            plain = {**headers, "Accept-Encoding": "identity"}
            response = self._session().post(
                _checked(url), data=body, headers=plain, allow_redirects=False, stream=True
            )
            with response:
                names = {name.lower(): value for name, value in response.headers.items()}
                body = b""
                with suppress(HTTPError, OSError):
                    body = bytes(response.raw.read(BEGINNING, decode_content=False))
                return Fetched(response.status_code, response.url, names, body)

    def session(self) -> SafeSession:
        adapter = CheckedAdapter(allow=self._allow, resolve=self._resolve, refused=AddressRefused)
        return SafeSession(adapter, **self._options)

    def _session(self) -> SafeSession:
        if not hasattr(self._local, "session"):
            self._local.session = self.session()
        return self._local.session  # type: ignore[no-any-return]


@contextmanager
def _explained(url: str, timeout: float) -> Iterator[None]:
    try:
        yield
    except FetchError:
        raise
    except (requests.RequestException, OSError, ValueError) as error:
        raise Unreached(explanation(error, host_of(url), timeout)) from error


def _for_target(headers: dict[str, str], url: str, target: str) -> dict[str, str]:
    if keeps_secrets(url, target):
        return headers
    return {name: value for name, value in headers.items() if name.lower() in NEUTRAL_HEADERS}


def _fetched(response: requests.Response, redirects: list[tuple[int, str]]) -> Fetched:
    names = {name.lower(): value for name, value in response.headers.items()}
    return Fetched(response.status_code, response.url, names, response.content, tuple(redirects))


def _count(
    redirects: list[tuple[int, str]], response: requests.Response, target: str, *, wants_cookies: bool = False
) -> None:
    redirects.append((response.status_code, target))
    if len(redirects) > MAX_REDIRECTS and wants_cookies:
        raise FetchError(
            f"{host_of(response.url)} redirects more than {MAX_REDIRECTS} times and sets cookies each time: a"
            " cookie wall, made for browsers. Ask its publisher to let feed readers pass."
        )
    if len(redirects) > MAX_REDIRECTS:
        raise FetchError(
            f"{host_of(response.url)} redirects more than {MAX_REDIRECTS} times. Check the address."
        )


def client() -> SafeClient:
    return _client(tuple(settings.ALLOW_PRIVATE_NETWORKS), settings.VERSION, settings.SITE_URL)


@lru_cache(maxsize=8)
def _client(allow: tuple[Network, ...], version: str, site: str) -> SafeClient:
    return SafeClient(allow=allow, user_agent=f"Feedletter/{version} (+{site})")


def _read_within_budget(response: requests.Response, **kwargs: Any) -> None:
    """Response hook, which requests calls before anything else reads the body."""
    ours = current_deadline()
    if kwargs.get("stream") or ours is None:
        return
    body = bytearray()
    for chunk in response.iter_content(READ_BYTES):
        body += chunk
        if len(body) > ours.max_bytes:
            response.close()
            raise AnswerTooLarge(
                f"The document at {host_of(response.url)} is larger than {ours.max_bytes / 1_000_000:g} MB."
                " Ask its publisher for a smaller one."
            )
    response._content = bytes(body)


def _checked(url: str) -> str:
    """Raises FetchError."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise FetchError(
            f"“{url[:200]}” is not an address of the web. It has to begin with http:// or https://."
        )
    return url


def _seconds(timeout: Any, default: float) -> float:
    """Requests accepts a number, a pair for connecting and reading, or None."""
    given = [value for value in (timeout if isinstance(timeout, tuple) else (timeout,)) if value]
    return float(sum(given)) if given else default
