"""What mail services tell, as they write it."""

import hashlib
import hmac
import json
from typing import Any

WHEN = "2026-03-03T12:00:00Z"


def postmark(type_: str, metadata: dict[str, str], *, identity: int = 42, **more: Any) -> dict[str, Any]:
    record = "SpamComplaint" if type_ == "SpamComplaint" else "Bounce"
    return {
        "RecordType": record,
        "Type": type_,
        "ID": identity,
        "MessageID": "m-1",
        "Email": "ada@example.org",
        "BouncedAt": WHEN,
        "Description": "The server was unable to deliver your message.",
        "Metadata": metadata,
        **more,
    }


def mailgun(
    event: str, metadata: dict[str, str], *, key: str, token: str = "t1", **more: Any
) -> dict[str, Any]:
    signature = hmac.digest(key.encode(), f"1767225600{token}".encode(), hashlib.sha256).hex()
    return {
        "signature": {"token": token, "timestamp": "1767225600", "signature": signature},
        "event-data": {
            "event": event,
            "timestamp": 1767225600.0,
            "recipient": "ada@example.org",
            "message": {"headers": {"message-id": "1@mg.example.org"}},
            "user-variables": metadata,
            **more,
        },
    }


def sendgrid(event: str, metadata: dict[str, str], **more: Any) -> list[dict[str, Any]]:
    common = {"email": "ada@example.org", "timestamp": 1767225600, "sg_event_id": "e1", "sg_message_id": "s1"}
    return [{"event": event, **common, **metadata, **more}]


def ses(kind: str, metadata: dict[str, str], detail: dict[str, Any]) -> dict[str, Any]:
    """In the envelope of SNS."""
    headers = [{"name": "X-Metadata", "value": json.dumps(metadata)}]
    mail = {"messageId": "m1", "destination": ["ada@example.org"], "headers": headers}
    event = {"notificationType": kind, "mail": mail, kind.lower(): detail}
    return {"Type": "Notification", "MessageId": "n1", "Timestamp": WHEN, "Message": json.dumps(event)}


def resend(type_: str, metadata: dict[str, str], **data: Any) -> dict[str, Any]:
    headers = [{"name": "X-Metadata", "value": json.dumps(metadata)}]
    common = {"email_id": "r1", "to": ["ada@example.org"], "headers": headers}
    return {"type": type_, "created_at": WHEN, "data": {**common, **data}}


def brevo(event: str, metadata: dict[str, str], **more: Any) -> dict[str, Any]:
    common = {"email": "ada@example.org", "message-id": "<b1>", "ts_epoch": 1767225600000}
    return {"event": event, "X-Mailin-custom": json.dumps(metadata), **common, **more}


def mailersend(type_: str, *, message_id: str, address: str, **morph: Any) -> dict[str, Any]:
    email = {"message": {"id": message_id}, "recipient": {"email": address}}
    data = {
        "type": type_,
        "id": "ms-1",
        "created_at": WHEN,
        "email": email,
        **({"morph": morph} if morph else {}),
    }
    return {"type": f"activity.{type_}", "data": data}
