"""Events in the format of each mail service, and calls of our webhook with them."""

import base64
import hashlib
import hmac
import json
from functools import cache
from typing import Any
from urllib.parse import urlencode

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from django.test import Client

WHEN = "2026-03-03T12:00:00Z"
STAMP = 1767225600
SECRET, KEY = "feedletter:l0ng-passw0rd", "k3y"


@cache
def postal_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def postal_public_key() -> str:
    """Return the key as EMAIL_URL expects it: without first and last line."""
    pem = (
        postal_key()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return "".join(pem.decode().splitlines()[1:-1])


def tell(esp: str, event: Any, *, secret: str = SECRET, **headers: str) -> Any:
    """Call the webhook with a JSON body."""
    return _post(esp, json.dumps(event), secret=secret, headers=headers)


def tell_signed(esp: str, event: Any) -> Any:
    """Call the webhook as the service does: in its format, and signed if it signs."""
    body, headers, content_type = json.dumps(event), dict[str, str](), "application/json"
    if esp == "mailersend":
        headers["Signature"] = hmac.digest(KEY.encode(), body.encode(), hashlib.sha256).hex()
    elif esp == "postal":
        signature = postal_key().sign(body.encode(), padding.PKCS1v15(), hashes.SHA1())  # noqa: S303
        headers["X-Postal-Signature"] = base64.b64encode(signature).decode()
    elif esp == "mandrill":
        signed = f"http://{SECRET}@testserver/anymail/mandrill/tracking/mandrill_events{body}"
        digest = hmac.digest(KEY.encode(), signed.encode(), hashlib.sha1)
        headers["X-Mandrill-Signature"] = base64.b64encode(digest).decode()
        body, content_type = urlencode({"mandrill_events": body}), "application/x-www-form-urlencoded"
    elif esp == "unisender-go":
        auth = hashlib.md5(body.replace("AUTH", KEY).encode()).hexdigest()  # noqa: S324
        body = body.replace("AUTH", auth)
    elif esp == "ses":
        headers |= {"X-Amz-Sns-Message-Type": "Notification", "X-Amz-Sns-Message-Id": "n1"}
    return _post(esp, body, headers=headers, content_type=content_type)


def _post(
    esp: str,
    body: str,
    *,
    headers: dict[str, str],
    secret: str = SECRET,
    content_type: str = "application/json",
) -> Any:
    if secret:
        headers["Authorization"] = "Basic " + base64.b64encode(secret.encode()).decode()
    client = Client(headers=headers, raise_request_exception=False)
    answer: Any = client.post(f"/anymail/{esp}/tracking/", body, content_type=content_type)
    return answer


def postmark(type_: str, metadata: dict[str, str], *, identity: int = 42, **more: Any) -> dict[str, Any]:
    return {
        "RecordType": "SpamComplaint" if type_ == "SpamComplaint" else "Bounce",
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
    """Return an event in the envelope of SNS."""
    headers = [{"name": "X-Metadata", "value": json.dumps(metadata)}]
    mail = {"messageId": "m1", "destination": ["ada@example.org"], "headers": headers}
    about = "failure" if kind == "Rendering Failure" else kind.lower()
    event = {"notificationType": kind, "mail": mail, about: detail}
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


def mailjet(event: str, metadata: dict[str, str], **more: Any) -> dict[str, Any]:
    common = {"time": STAMP, "email": "ada@example.org", "MessageID": 19421777835146490}
    return {"event": event, "Payload": json.dumps(metadata), **common, **more}


def mailtrap(event: str, metadata: dict[str, str], **more: Any) -> dict[str, Any]:
    common = {"timestamp": STAMP, "message_id": "m-1", "email": "ada@example.org", "event_id": "e-1"}
    return {"events": [{"event": event, "custom_variables": metadata, **common, **more}]}


def mandrill(event: str, metadata: dict[str, str], **message: Any) -> list[dict[str, Any]]:
    common = {"ts": STAMP, "email": "ada@example.org", "metadata": metadata, "_id": "m-1"}
    return [{"event": event, "ts": STAMP, "_id": "m-1", "msg": {**common, **message}}]


def postal(event: str, message_id: str, **payload: Any) -> dict[str, Any]:
    message = {"id": message_id, "direction": "outgoing", "to": "ada@example.org"}
    which = "original_message" if event == "MessageBounced" else "message"
    return {"event": event, "timestamp": STAMP, "uuid": "u-1", "payload": {which: message, **payload}}


def sparkpost(type_: str, metadata: dict[str, str], **more: Any) -> list[dict[str, Any]]:
    event_class = {
        "spam_complaint": "message_event",
        "list_unsubscribe": "unsubscribe_event",
        "link_unsubscribe": "unsubscribe_event",
        "generation_failure": "gen_event",
        "generation_rejection": "gen_event",
        "click": "track_event",
        "open": "track_event",
    }.get(type_, "message_event")
    common = {"timestamp": str(STAMP), "event_id": "e-1", "raw_rcpt_to": "ada@example.org"}
    return [{"msys": {event_class: {"type": type_, "rcpt_meta": metadata, **common, **more}}}]


def unisender(status: str, metadata: dict[str, str], **info: Any) -> dict[str, Any]:
    data = {"job_id": "1", "metadata": metadata, "email": "ada@example.org", "status": status}
    data |= {"event_time": "2026-03-03 12:00:00", "delivery_info": info}
    event = {"event_name": "transactional_email_status", "event_data": data}
    return {"auth": "AUTH", "events_by_user": [{"user_id": 1, "events": [event]}]}
