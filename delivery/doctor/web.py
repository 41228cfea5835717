"""Whether mail programs can reach the links to leave (RFC 8058): they call them from outside, over https."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from common.net.client import Fetched, SafeClient
from common.net.errors import AddressRefused, FetchError
from delivery.doctor.findings import Finding, Verdict

TOPIC = "Unsubscribe links"
SECONDS = 10.0
# A link that nobody was ever sent: the page says so, with the headers of pages whose address is a key.
PATH = "/unsubscribe/mail-check/"
OURS = 400
LOCAL = ("localhost",)


def check_links(site_url: str, client: SafeClient) -> list[Finding]:
    """Calls a link as a mail program does, first to look, then to leave. Network. Raises nothing."""
    return [_looked(site_url, client)]


def _looked(site_url: str, client: SafeClient) -> Finding:
    url = f"{site_url}{PATH}"
    if wrong := _unfit(site_url):
        return _said(url, Verdict.WRONG, wrong, "Set SITE_URL to the https:// address that readers use.")
    try:
        answers = [
            client.get(url, timeout=SECONDS),
            client.post(url, data={"List-Unsubscribe": "One-Click"}, timeout=SECONDS),
        ]
    except AddressRefused as error:
        text = f"From here, {urlsplit(url).hostname} is no address that the world could call: {error}"
        return _said(url, Verdict.WRONG, text, "Set SITE_URL to an address that is public.")
    except FetchError as error:
        return _said(url, Verdict.WRONG, f"It cannot be reached from here: {error}", "Mend that.")
    return _judged(url, answers)


def _unfit(site_url: str) -> str:
    parts = urlsplit(site_url)
    if _is_local(parts.hostname or ""):
        return "SITE_URL is of this machine or network: no reader and no mail program can call it."
    if parts.scheme != "https":
        return (
            "SITE_URL begins with http://. Gmail, Yahoo and others want https:// for one-click unsubscribing."
        )
    return ""


def _is_local(host: str) -> bool:
    try:
        return not ip_address(host).is_global
    except ValueError:
        return host in LOCAL or host.endswith((".localhost", ".local", ".internal"))


def _judged(url: str, answers: list[Fetched]) -> Finding:
    found = " and ".join(f"HTTP {answer.status}" for answer in answers)
    if any(answer.redirects for answer in answers):
        text = "It redirects, and mail programs need not follow that when somebody leaves (RFC 8058 §3.1)."
        change = f"Set SITE_URL to where it leads: {answers[0].url.removesuffix(PATH)}"
        return _said(url, Verdict.WRONG, text, change, found)
    if not all(_is_ours(answer) for answer in answers):
        text = "Something answers there, but it is not Feedletter: readers cannot leave."
        return _said(url, Verdict.WRONG, text, "Let the web server pass GET and POST of SITE_URL on.", found)
    return _said(url, Verdict.GOOD, "They can be called over https, with a valid certificate.", "", found)


def _is_ours(answer: Fetched) -> bool:
    return answer.status == OURS and "noindex" in answer.headers.get("x-robots-tag", "")


def _said(url: str, verdict: Verdict, says: str, change: str = "", found: str = "") -> Finding:
    host = urlsplit(url).netloc
    return Finding(TOPIC, host, f"GET and POST {url}", verdict, says, (found,) if found else (), change)
