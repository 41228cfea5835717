"""An account of the Fediverse, Ada, who follows a newsletter of the demo."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from channels.activitypub.signatures import SignedRequest, public_pem, sign

FEDIVERSE, KEPT_IN = "fediverse", "fediverse.json"
NAME = "ada"
CONTEXT = "https://www.w3.org/ns/activitystreams"


@dataclass(frozen=True, slots=True)
class Ada:
    """`home` is her server, `newsletter` a page with its site's public key, `key` hers.

    `follows` is False until the newsletter accepts, and None if she doesn't want to follow it.
    """

    home: str
    newsletter: str
    site_key: str
    key: str
    follows: bool | None = None

    @classmethod
    def load(cls, folder: Path) -> "Ada | None":
        file = folder / KEPT_IN
        return cls(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None

    def save(self, folder: Path, **changes: Any) -> None:
        file = folder / KEPT_IN
        file.touch(mode=0o600)
        file.write_text(json.dumps(asdict(replace(self, **changes))), encoding="utf-8")

    @property
    def id(self) -> str:
        """Address of her document and of her page."""
        return f"{self.home}/{FEDIVERSE}/"

    @property
    def followed(self) -> str:
        return f"{self.newsletter}actor"

    @property
    def handle(self) -> str:
        """Handle of the newsletter."""
        parts = urlsplit(self.newsletter)
        return f"@{parts.path.strip('/').rpartition('/')[2]}@{parts.netloc}"

    def document(self) -> Mapping[str, Any]:
        key = {"id": f"{self.id}#main-key", "owner": self.id, "publicKeyPem": public_pem(self.key)}
        return {
            "@context": CONTEXT,
            "id": self.id,
            "type": "Person",
            "preferredUsername": NAME,
            "inbox": f"{self.id}inbox",
            "publicKey": key,
        }

    def activity(self, kind: str, about: object) -> dict[str, Any]:
        number = f"{self.id}#{kind.lower()}-{secrets.token_hex(8)}"
        return {"@context": CONTEXT, "id": number, "type": kind, "actor": self.id, "object": about}

    def reply(self, about: object, html: str, *, url: str) -> dict[str, Any]:
        number = f"{self.id}#note-{secrets.token_hex(8)}"
        note = {"id": number, "type": "Note", "attributedTo": self.id, "inReplyTo": about, "url": url}
        return self.activity("Create", {**note, "content": html})

    def signed(self, activity: Mapping[str, Any], *, now: datetime) -> tuple[SignedRequest, dict[str, str]]:
        """Return a request to the newsletter's inbox, and its headers."""
        request = SignedRequest("POST", f"{self.newsletter}inbox", body=json.dumps(activity).encode())
        headers = sign(request, private=self.key, key_id=f"{self.id}#main-key", now=now)
        request.headers = {name.lower(): value for name, value in headers.items()}
        return request, headers
