"""Each documented event of each mail service, and its effect.

An event is its type and the service's fields, from which `events` builds it. Its effect is a kind of bounce,
"leaves" or "nothing".
"""

from typing import Any

from tests.delivery.bounces import events

Event = tuple[str, dict[str, Any]]
ADA = "ada@example.org"
UNKNOWN_USER = "550 5.1.1 <ada@example.org>: Recipient address rejected: User unknown"
FULL = "552 5.2.2 Mailbox full"
SPAM = "554 5.7.1 Message rejected as spam"
TIMED_OUT = "451 4.4.1 connection timed out"
POSTMARK_WORDS = "The server was unable to deliver your message (ex: unknown user, mailbox not found)."
PREFERENCES = {"topicSubscriptionStatus": [{"topicName": "news", "subscriptionStatus": "OptOut"}]}
RESEND_GENERAL = (
    "The recipient's email provider sent a general bounce message. You might be able to send a message to the"
    " same recipient in the future if the issue that caused the message to bounce is resolved."
)
BREVO: list[tuple[Event, str]] = [
    (("hard_bounce", {"reason": "no mailbox"}), "hard"),
    (("hard_bounce", {"reason": FULL}), "soft"),
    (("hard_bounce", {"reason": SPAM}), "policy"),
    (("soft_bounce", {"reason": "later"}), "soft"),
    (("soft_bounce", {"reason": UNKNOWN_USER}), "hard"),
    (("invalid_email", {}), "hard"),
    (("deferred", {"reason": "450 greylisted"}), "delayed"),
    (("blocked", {}), "policy"),
    (("blocked", {"reason": "blocked : due to blacklist user"}), "policy"),
    (("blocked", {"reason": "contact unsubscribed"}), "leaves"),
    (("blocked", {"reason": "hard bounced before"}), "hard"),
    (("spam", {}), "complaint"),
    (("complaint", {}), "complaint"),
    (("unsubscribed", {}), "leaves"),
    (("unsubscribe", {}), "leaves"),
    (("error", {"reason": "internal"}), "policy"),
    *(((name, {}), "nothing") for name in ("request", "delivered", "opened", "unique_opened", "click")),
    *(((name, {}), "nothing") for name in ("proxy_open", "unique_proxy_open", "list_addition")),
]
MAILERSEND: list[tuple[Event, str]] = [
    (("hard_bounced", {"object": "recipient_bounce", "reason": "Unknown reason"}), "hard"),
    (("hard_bounced", {"object": "recipient_bounce", "reason": "Host or domain name not found"}), "hard"),
    (("hard_bounced", {"object": "recipient_bounce", "reason": SPAM}), "policy"),
    (("soft_bounced", {"object": "recipient_bounce", "reason": "Unknown reason"}), "soft"),
    (("deferred", {}), "delayed"),
    (("unsubscribed", {"object": "recipient_unsubscribe", "reason": "option_3"}), "leaves"),
    (("spam_complaint", {"object": "spam_complaint", "reason": None}), "complaint"),
    *(((name, {}), "nothing") for name in ("sent", "delivered", "opened", "clicked", "opened_unique")),
]
MAILJET: list[tuple[Event, str]] = [
    (("bounce", {"hard_bounce": True, "error": "user unknown"}), "hard"),
    (("bounce", {"hard_bounce": True, "error": "", "comment": ""}), "hard"),
    (("bounce", {"hard_bounce": False, "error": "", "comment": ""}), "soft"),
    (("bounce", {"hard_bounce": True, "error": "mailbox inactive"}), "hard"),
    (("bounce", {"hard_bounce": False, "error": "quota exceeded"}), "soft"),
    (("bounce", {"hard_bounce": True, "error": "invalid domain"}), "hard"),
    (("bounce", {"hard_bounce": False, "error": "no mail host"}), "soft"),
    (("bounce", {"hard_bounce": True, "error": "relay/access denied"}), "policy"),
    (("bounce", {"hard_bounce": False, "error": "greylisted"}), "delayed"),
    (("bounce", {"hard_bounce": True, "error": "sender blocked"}), "policy"),
    (("bounce", {"hard_bounce": True, "error": "policy issue", "comment": SPAM}), "policy"),
    (("bounce", {"hard_bounce": True, "error": "user unknown", "smtp_reply": FULL}), "soft"),
    (("bounce", {"hard_bounce": False, "error": "connection issue"}), "soft"),
    (("blocked", {"error": "content blocked"}), "policy"),
    (("blocked", {"error": "blacklisted"}), "policy"),
    (("blocked", {"error": "spam reporter"}), "complaint"),
    (("blocked", {"error": "preblocked"}), "soft"),
    (("blocked", {"error": "typofix"}), "hard"),
    (("blocked", {"error": "duplicate in campaign"}), "policy"),
    (("blocked", {"error": "bad or empty template"}), "policy"),
    (("spam", {"source": "JMRPP"}), "complaint"),
    (("unsub", {}), "leaves"),
    *(((name, {}), "nothing") for name in ("sent", "open", "click")),
]
MAILTRAP: list[tuple[Event, str]] = [
    (("bounce", {"response": f"bounced ({UNKNOWN_USER})", "bounce_category": "hard"}), "hard"),
    (("bounce", {"bounce_category": "hard"}), "hard"),
    (("bounce", {}), "soft"),
    (("bounce", {"response": f"bounced ({FULL})", "bounce_category": "hard"}), "soft"),
    (("bounce", {"response": f"bounced ({SPAM})", "bounce_category": "spam"}), "policy"),
    (("soft bounce", {"response": "soft bounce (450 4.2.0 unavailable)"}), "delayed"),
    (("spam", {}), "complaint"),
    (("unsubscribe", {}), "leaves"),
    (("reject", {"reason": "Account suspended"}), "policy"),
    (("reject", {"reason": "hard bounce"}), "hard"),
    (("reject", {"reason": "unsubscription"}), "leaves"),
    (("reject", {"reason": "spam complaint"}), "complaint"),
    (("suspension", {"reason": "Account suspended"}), "policy"),
    *(((name, {}), "nothing") for name in ("delivery", "open", "click")),
]
MANDRILL: list[tuple[Event, str]] = [
    (("hard_bounce", {"bounce_description": "bad_mailbox", "diag": "smtp;550 5.1.1 no"}), "hard"),
    (("hard_bounce", {"bounce_description": "bad_mailbox"}), "hard"),
    (("hard_bounce", {"bounce_description": "invalid_domain"}), "hard"),
    (("hard_bounce", {"bounce_description": "bad_mailbox", "diag": f"smtp;{SPAM}"}), "policy"),
    (("hard_bounce", {"bounce_description": "general", "diag": f"smtp;{SPAM}"}), "policy"),
    (("soft_bounce", {"bounce_description": "mailbox_full", "diag": f"smtp;{FULL}"}), "soft"),
    (("soft_bounce", {"bounce_description": "general"}), "soft"),
    (("deferral", {"diag": TIMED_OUT}), "delayed"),
    (("spam", {}), "complaint"),
    (("unsub", {}), "leaves"),
    (("reject", {}), "policy"),
    (("reject", {"reject": {"reason": "hard-bounce"}}), "hard"),
    (("reject", {"reject": {"reason": "soft-bounce"}}), "soft"),
    (("reject", {"reject": {"reason": "spam"}}), "complaint"),
    (("reject", {"reject": {"reason": "unsub"}}), "leaves"),
    (("reject", {"reject": "invalid"}), "hard"),
    *((("reject", {"reject": {"reason": name}}), "policy") for name in ("custom", "invalid-sender", "rule")),
    *((("reject", {"reject": {"reason": name}}), "policy") for name in ("test-mode-limit", "unsigned")),
    *(((name, {}), "nothing") for name in ("send", "delivered", "open", "click")),
]
POSTAL: list[tuple[Event, str]] = [
    (("MessageDeliveryFailed", {"status": "HardFail", "output": UNKNOWN_USER}), "hard"),
    (("MessageDeliveryFailed", {"status": "HardFail", "output": SPAM}), "policy"),
    (
        (
            "MessageDeliveryFailed",
            {"status": "HardFail", "details": "Maximum number of delivery attempts (18) has been reached."},
        ),
        "soft",
    ),
    (("MessageDelayed", {"status": "SoftFail", "output": TIMED_OUT}), "delayed"),
    (("MessageBounced", {"bounce": {"id": 2, "subject": "Mail delivery failed"}}), "soft"),
    (("MessageBounced", {"bounce": {"id": 2, "subject": "Out of office until Monday"}}), "nothing"),
    (("MessageBounced", {"bounce": {"id": 2, "subject": "Hello"}}), "unknown"),
    (("MessageHeld", {"status": "Held", "details": "Server is in development mode."}), "policy"),
    (
        (
            "MessageHeld",
            {
                "status": "Held",
                "details": f"Recipient ({ADA}) is on the suppression list (reason: too many hard fails)",
            },
        ),
        "hard",
    ),
    (
        (
            "MessageHeld",
            {
                "status": "Held",
                "details": f"Recipient ({ADA}) is on the suppression list (reason: too many soft fails)",
            },
        ),
        "soft",
    ),
    (("MessageSent", {"status": "Sent", "output": "250 OK"}), "nothing"),
    (("MessageLinkClicked", {"url": "https://example.org/"}), "nothing"),
    (("MessageLoaded", {}), "nothing"),
]
SENDGRID: list[tuple[Event, str]] = [
    (("bounce", {"type": "bounce", "reason": UNKNOWN_USER, "status": "5.1.1"}), "hard"),
    (("bounce", {"type": "bounce", "reason": "", "bounce_classification": "Invalid Address"}), "hard"),
    (("bounce", {"type": "bounce", "reason": "552 mailbox is full", "status": "5.2.2"}), "soft"),
    (("bounce", {"type": "blocked", "reason": SPAM}), "policy"),
    (("bounce", {"type": "blocked", "reason": ""}), "policy"),
    (("bounce", {"type": "bounce", "reason": "", "bounce_classification": "Reputation"}), "policy"),
    (
        (
            "bounce",
            {
                "type": "blocked",
                "reason": "unable to get mx info: failed to get IPs from PTR record: lookup <nil>",
            },
        ),
        "soft",
    ),
    (("deferred", {"response": TIMED_OUT}), "delayed"),
    (("dropped", {"reason": "Bounced Address", "status": "5.0.0"}), "hard"),
    (("dropped", {"reason": "Invalid"}), "hard"),
    (("dropped", {"reason": "Unsubscribed Address"}), "leaves"),
    (("dropped", {"reason": "Spam Reporting Address"}), "complaint"),
    (("dropped", {"reason": "Spam Content"}), "policy"),
    (("dropped", {"reason": "Invalid SMTPAPI header"}), "policy"),
    (("dropped", {"reason": "Recipient List over Package Quota"}), "policy"),
    (("spamreport", {}), "complaint"),
    (("unsubscribe", {}), "leaves"),
    (("group_unsubscribe", {"asm_group_id": 1}), "leaves"),
    *(((name, {}), "nothing") for name in ("processed", "delivered", "open", "click", "group_resubscribe")),
]


def ses_bounce(type_: str, sub_type: str, words: str = "", **more: str) -> dict[str, Any]:
    recipient = {"emailAddress": ADA, **({"diagnosticCode": words} if words else {}), **more}
    return {"bounceType": type_, "bounceSubType": sub_type, "bouncedRecipients": [recipient]}


def ses_complaint(feedback: str | None) -> dict[str, Any]:
    type_ = {"complaintFeedbackType": feedback} if feedback else {}
    return {"complainedRecipients": [{"emailAddress": ADA}], **type_}


SES: list[tuple[Event, str]] = [
    (("Bounce", ses_bounce("Permanent", "General")), "hard"),
    (("Bounce", ses_bounce("Permanent", "General", f"smtp; {FULL}")), "soft"),
    (("Bounce", ses_bounce("Permanent", "General", f"smtp; {SPAM}")), "policy"),
    (("Bounce", ses_bounce("Permanent", "NoEmail")), "hard"),
    (("Bounce", ses_bounce("Permanent", "Suppressed", "Amazon SES has suppressed sending to …")), "hard"),
    (("Bounce", ses_bounce("Permanent", "OnAccountSuppressionList")), "hard"),
    (("Bounce", ses_bounce("Permanent", "UnsubscribedRecipient")), "leaves"),
    (("Bounce", ses_bounce("Transient", "General")), "nothing"),
    (("Bounce", ses_bounce("Transient", "General", "Out of office: back on Monday")), "nothing"),
    (("Bounce", ses_bounce("Transient", "General", f"smtp; {UNKNOWN_USER}")), "hard"),
    (("Bounce", ses_bounce("Transient", "General", f"smtp; {TIMED_OUT}")), "soft"),
    (("Bounce", ses_bounce("Transient", "General", "", status="5.7.1")), "policy"),
    (("Bounce", ses_bounce("Transient", "MailboxFull")), "soft"),
    (("Bounce", ses_bounce("Transient", "MessageTooLarge")), "policy"),
    (("Bounce", ses_bounce("Transient", "ContentRejected")), "policy"),
    (("Bounce", ses_bounce("Transient", "AttachmentRejected")), "policy"),
    (("Bounce", ses_bounce("Transient", "CustomTimeoutExceeded")), "policy"),
    (("Bounce", ses_bounce("Undetermined", "Undetermined")), "nothing"),
    (("Bounce", ses_bounce("Undetermined", "Undetermined", "smtp; 550 5.1.1 no")), "hard"),
    (("Complaint", ses_complaint("abuse")), "complaint"),
    (("Complaint", ses_complaint("fraud")), "complaint"),
    (("Complaint", ses_complaint(None)), "complaint"),
    (("Complaint", ses_complaint("not-spam")), "nothing"),
    (("Complaint", ses_complaint("virus")), "unknown"),
    (("Complaint", ses_complaint("auth-failure")), "unknown"),
    (("Complaint", ses_complaint("other")), "unknown"),
    (("Delivery", {"recipients": [ADA]}), "nothing"),
    (("Send", {}), "nothing"),
    (("Open", {}), "nothing"),
    (("Click", {}), "nothing"),
    (("Reject", {"reason": "Bad content"}), "policy"),
    (("Rendering Failure", {"errorMessage": "Attribute 'name' is not present"}), "policy"),
    (("DeliveryDelay", {"delayType": "MailboxFull"}), "delayed"),
    (("Subscription", {"newTopicPreferences": {"unsubscribeAll": True}}), "leaves"),
    (("Subscription", {"newTopicPreferences": PREFERENCES}), "leaves"),
    (("Subscription", {"newTopicPreferences": {"unsubscribeAll": False}}), "nothing"),
    (("Brandnew", {}), "nothing"),
]


def failed(code: int | None = None, message: str = "", **more: Any) -> Event:
    status = {"message": message, **({"code": code} if code is not None else {})}
    return "failed", {"severity": "permanent", "reason": "generic", "delivery-status": status, **more}


MAILGUN: list[tuple[Event, str]] = [
    (failed(550, "5.1.1 The email account that you tried to reach does not exist"), "hard"),
    (failed(550, "No such user here"), "hard"),
    (failed(552, "5.2.2 Mailbox full"), "soft"),
    (failed(550, "5.7.1 spam"), "policy"),
    (failed(550, "something else"), "soft"),
    (failed(602, "Too old"), "soft"),
    (failed(602, "Delivery timed out", reason="old"), "soft"),
    (failed(605, "Not delivering to previously bounced address", reason="suppress-bounce"), "hard"),
    (failed(605), "hard"),
    (failed(606, "Not delivering to unsubscribed address", reason="suppress-unsubscribe"), "leaves"),
    (failed(607, "Not delivering to a user who marked your messages as spam"), "complaint"),
    (failed(None, "connection timed out"), "soft"),
    (failed(None), "soft"),
    (failed(498, "No MX for example.org"), "hard"),
    (("failed", {"severity": "temporary", "delivery-status": {"code": 452, "message": "full"}}), "delayed"),
    (("failed", {"severity": "permanent", "delivery-status": None}), "soft"),
    (("rejected", {"reject": {"reason": "Sandbox subdomains are for test purposes only"}}), "policy"),
    (("complained", {}), "complaint"),
    (("unsubscribed", {}), "leaves"),
    *(((name, {}), "nothing") for name in ("accepted", "delivered", "opened", "clicked", "stored")),
]


def changed(reason: str, origin: str = "Recipient", suppresses: bool = True) -> Event:
    record = {"RecordType": "SubscriptionChange", "SuppressSending": suppresses, "Origin": origin}
    return "", {**record, "SuppressionReason": reason, "ChangedAt": events.WHEN, "Description": None}


POSTMARK: list[tuple[Event, str]] = [
    (("HardBounce", {"Details": f"smtp;{UNKNOWN_USER}", "Description": POSTMARK_WORDS}), "hard"),
    (("HardBounce", {"Details": "", "Description": POSTMARK_WORDS}), "hard"),
    (("HardBounce", {"Details": f"smtp;{SPAM}", "Description": POSTMARK_WORDS}), "policy"),
    (("SoftBounce", {"Details": "", "Description": "(i.e. mailbox full, account disabled)"}), "soft"),
    (("Transient", {"Details": TIMED_OUT}), "delayed"),
    (("DnsError", {}), "delayed"),
    (("Unsubscribe", {}), "leaves"),
    *(((name, {}), "nothing") for name in ("Subscribe", "AutoResponder", "AddressChange", "OpenRelayTest")),
    (("SpamNotification", {"Details": f"smtp;{SPAM}"}), "policy"),
    (("SpamNotification", {"Details": "was blocked by the user, or classified as spam"}), "policy"),
    (("Unknown", {"Details": ""}), "unknown"),
    (("Unknown", {"Details": f"smtp;{UNKNOWN_USER}"}), "hard"),
    (("VirusNotification", {}), "policy"),
    (("ChallengeVerification", {}), "policy"),
    (("BadEmailAddress", {}), "hard"),
    (("SpamComplaint", {}), "complaint"),
    (("ManuallyDeactivated", {}), "policy"),
    (("Unconfirmed", {}), "policy"),
    (("Blocked", {"Details": "blocked due to content"}), "policy"),
    *(((name, {}), "policy") for name in ("SMTPApiError", "DMARCPolicy", "TemplateRenderingFailed")),
    (("BrandNew", {"Details": ""}), "policy"),
    (changed("HardBounce"), "hard"),
    (changed("SpamComplaint"), "complaint"),
    (changed("ManualSuppression"), "leaves"),
    (changed("ManualSuppression", "Customer"), "leaves"),
    (changed("ManualSuppression", "Admin"), "policy"),
    (changed("HardBounce", "Customer", suppresses=False), "nothing"),
    *((("", {"RecordType": name}), "nothing") for name in ("Delivery", "Open", "Click")),
]


def resend_bounce(type_: str, sub_type: str, message: str = "", **more: Any) -> Event:
    return "email.bounced", {"bounce": {"type": type_, "subType": sub_type, "message": message, **more}}


RESEND: list[tuple[Event, str]] = [
    (resend_bounce("Permanent", "General", "a hard bounce message"), "hard"),
    (resend_bounce("Permanent", "NoEmail"), "hard"),
    (resend_bounce("Permanent", "Suppressed", "Resend has suppressed sending to this address"), "hard"),
    (resend_bounce("Permanent", "OnAccountSuppressionList"), "hard"),
    (resend_bounce("Permanent", "General", diagnosticCode=[f"smtp; {SPAM}"]), "policy"),
    (resend_bounce("Transient", "General", RESEND_GENERAL), "nothing"),
    (resend_bounce("Transient", "General", RESEND_GENERAL, diagnosticCode=[f"smtp; {FULL}"]), "soft"),
    (resend_bounce("Transient", "MailboxFull"), "soft"),
    (resend_bounce("Transient", "MessageTooLarge"), "policy"),
    (resend_bounce("Transient", "ContentRejected"), "policy"),
    (resend_bounce("Transient", "AttachmentRejected"), "policy"),
    (resend_bounce("Undetermined", "Undetermined"), "nothing"),
    (("email.bounced", {"bounce": {"message": RESEND_GENERAL}}), "nothing"),
    (("email.bounced", {"bounce": {"message": "a bounce message, the inbox was full"}}), "soft"),
    (("email.complained", {}), "complaint"),
    (("email.delivery_delayed", {}), "delayed"),
    (("email.failed", {"failed": {"reason": "reached_daily_quota"}}), "policy"),
    (("email.suppressed", {"suppressed": {"type": "OnAccountSuppressionList", "message": "…"}}), "hard"),
    (("email.suppressed", {"suppressed": {"message": "It has marked a letter as spam."}}), "complaint"),
    *(((f"email.{name}", {}), "nothing") for name in ("sent", "scheduled", "delivered", "opened", "clicked")),
]


def classed(number: int, words: str = "", type_: str = "bounce") -> Event:
    return type_, {"bounce_class": str(number), "raw_reason": words}


SPARKPOST: list[tuple[Event, str]] = [
    (classed(10), "hard"),
    (classed(10, UNKNOWN_USER, "out_of_band"), "hard"),
    (classed(30), "hard"),
    *((classed(number), "soft") for number in (1, 20, 21, 22, 24, 40, 70)),
    *((classed(number), "policy") for number in (23, 25, 50, 51, 52, 53, 54, 100)),
    *((classed(number), "nothing") for number in (60, 80)),
    (classed(60, "", "out_of_band"), "nothing"),
    (classed(90), "leaves"),
    (classed(25, "550 5.7.1 recipient address was suppressed", "policy_rejection"), "policy"),
    (("generation_failure", {"error_code": "1"}), "policy"),
    (classed(25, "", "generation_rejection"), "policy"),
    (("spam_complaint", {"fbtype": "abuse"}), "complaint"),
    (("spam_complaint", {"fbtype": "not-spam"}), "nothing"),
    (("spam_complaint", {"fbtype": "virus"}), "unknown"),
    (("spam_complaint", {}), "complaint"),
    (("list_unsubscribe", {}), "leaves"),
    (("link_unsubscribe", {}), "leaves"),
    (("delay", {"bounce_class": "21", "raw_reason": TIMED_OUT}), "delayed"),
    *(((name, {}), "nothing") for name in ("injection", "delivery", "open", "click")),
]


def erred(status: str, words: str = "") -> Event:
    return "hard_bounced", {"delivery_status": f"err_{status}", "destination_response": words}


UNISENDER: list[tuple[Event, str]] = [
    *(
        (erred(name), "hard")
        for name in ("user_unknown", "user_inactive", "mailbox_discarded", "unreachable")
    ),
    (erred("domain_inactive"), "hard"),
    (erred("user_unknown", FULL), "soft"),
    *((erred(name), "soft") for name in ("mailbox_full", "skip_letter", "destination_misconfigured")),
    (erred("delivery_failed"), "soft"),
    *(
        (erred(name), "policy")
        for name in ("spam_rejected", "blacklisted", "too_large", "spam_skipped", "lost")
    ),
    (erred("unsubscribed"), "leaves"),
    (("soft_bounced", {"delivery_status": "err_will_retry"}), "delayed"),
    (("spam", {}), "complaint"),
    (("unsubscribed", {}), "leaves"),
    *(((name, {}), "nothing") for name in ("sent", "delivered", "opened", "clicked")),
]
