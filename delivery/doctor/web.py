"""Whether mail programs can call the unsubscribe links (RFC 8058): from outside, over https."""

from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from common.net.client import SafeClient
from common.net.errors import AddressRefused, FetchError
from delivery.doctor.findings import DoctorVerdict, Finding

TOPIC = "Unsubscribe links"
LINK_SECONDS = 10.0
# A link that nobody was ever sent: its page says so (OURS), with the headers of pages whose address is a key.
PATH = "/unsubscribe/mail-check/"
OURS = 400
LOCAL = ("localhost",)


def check_links(site_url: str, client: SafeClient) -> list[Finding]:
    """Calls a link as a mail program does, first to look, then to leave. Network. Raises nothing."""
    url = f"{site_url}{PATH}"
    wrong, parts = "", urlsplit(site_url)
    host = parts.hostname or ""
    is_local = host in LOCAL or host.endswith((".localhost", ".local", ".internal"))
    with suppress(ValueError):
        is_local = not ip_address(host).is_global
    if is_local:
        wrong = "SITE_URL is of this machine or network: no reader and no mail program can call it."
    elif parts.scheme != "https":
        wrong = (
            "SITE_URL begins with http://. Gmail, Yahoo and others want https:// for one-click unsubscribing."
        )
    if wrong:
        return _said(
            url, DoctorVerdict.WRONG, wrong, "Set SITE_URL to the https:// address that readers use."
        )
    try:
        answers = [
            client.get(url, timeout=LINK_SECONDS),
            client.post(url, data={"List-Unsubscribe": "One-Click"}, timeout=LINK_SECONDS),
        ]
    except AddressRefused as error:
        text = f"From here, {urlsplit(url).hostname} is no address that the world could call: {error}"
        return _said(url, DoctorVerdict.WRONG, text, "Set SITE_URL to an address that is public.")
    except FetchError as error:
        return _said(url, DoctorVerdict.WRONG, f"It cannot be reached from here: {error}", "Mend that.")
    found = " and ".join(f"HTTP {answer.status}" for answer in answers)
    if any(answer.redirects for answer in answers):
        text = "It redirects, and mail programs need not follow that when somebody leaves (RFC 8058 §3.1)."
        change = f"Set SITE_URL to where it leads: {answers[0].url.removesuffix(PATH)}"
        return _said(url, DoctorVerdict.WRONG, text, change, found)
    if not all(
        answer.status == OURS and "noindex" in answer.headers.get("x-robots-tag", "") for answer in answers
    ):
        text = "Something answers there, but it is not Feedletter: readers cannot leave."
        return _said(
            url, DoctorVerdict.WRONG, text, "Let the web server pass GET and POST of SITE_URL on.", found
        )
    return _said(
        url, DoctorVerdict.GOOD, "They can be called over https, with a valid certificate.", "", found
    )


def _said(url: str, verdict: DoctorVerdict, says: str, change: str = "", found: str = "") -> list[Finding]:
    host = urlsplit(url).netloc
    return [Finding(TOPIC, host, f"GET and POST {url}", verdict, says, (found,) if found else (), change)]
