"""Signs in to an account before it is saved, and finds who it is and where its posts are kept."""

from contextlib import closing
from dataclasses import replace
from urllib.parse import unquote

import requests

from channels.bluesky.client import BLUESKY, BlueskyClient, pds_of
from channels.bluesky.compose import BlueskyAccount
from channels.bridge import WARNING
from channels.http.checking import told_at_fields
from channels.http.client import ApiClient, Failed, host_of
from channels.http.transport import TIMEOUT_SECONDS, Transport
from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination

OWN_LOGIN = (
    "This is the account's own password, with which everything can be done. Make an app password in Bluesky"
    " (Settings, Privacy and security), and connect again with it."
)
PLC = "https://plc.directory"


def check_account(
    destination: ParsedDestination,
    *,
    session: requests.Session | None = None,
    timeout: float = TIMEOUT_SECONDS,
    plc: str = PLC,
) -> ParsedDestination:
    """The destination by its DID, with its server. Raises InvalidDestination with what the service said."""
    transport = Transport(session)
    config, service = destination.config, destination.config["service_url"]
    account = BlueskyAccount(config["handle"], service, "", destination.secrets["app_password"])
    client = BlueskyClient(transport, account, utcnow(), timeout=timeout)
    elsewhere = f"{host_of(service)} does not look like {BLUESKY.name}."
    with closing(transport), told_at_fields("service_url", credentials="app_password", elsewhere=elsewhere):
        signed_in = client.sign_in()
        pds = signed_in.pds or _pds(transport, signed_in.did, plc, timeout) or service
    if not signed_in.is_active:
        raise InvalidDestination(f"handle: {host_of(service)} says that this account is not active.")
    handle = signed_in.handle
    kept = {name: value for name, value in config.items() if name != WARNING}
    if signed_in.is_main_password:
        kept[WARNING] = OWN_LOGIN
    return replace(
        destination,
        core=signed_in.did,
        label=f"@{handle}",
        config={**kept, "did": signed_in.did, "pds": pds, "handle": handle},
    )


def _pds(transport: Transport, did: str, plc: str, timeout: float) -> str:
    """The server by its DID's document; "" where that cannot be read: then the service passes posts on."""
    _, method, name = did.split(":", 2)
    url = f"{plc}/{did}" if method == "plc" else f"https://{unquote(name)}/.well-known/did.json"
    client = ApiClient(transport, host_of(url), BLUESKY, utcnow(), timeout=timeout)
    try:
        return client.call("GET", url, read=lambda answer: pds_of(answer.json))
    except Failed:
        return ""
