"""Meanings of mail services' events, by service, event and reason.

Each service has its own; anymail's common types lose details about readers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from delivery.rules.bounce_policy import BounceKind


@dataclass(frozen=True, slots=True)
class Verdict:
    """Kind of bounce, or unsubscription, or neither.

    `by_words`: clear words of the mail server decide.
    """

    kind: BounceKind | None = None
    leaves: bool = False
    by_words: bool = False


NOTHING, LEAVES = Verdict(), Verdict(leaves=True)
HARD, SOFT, POLICY = Verdict(BounceKind.HARD), Verdict(BounceKind.SOFT), Verdict(BounceKind.POLICY)
COMPLAINT, DELAYED = Verdict(BounceKind.COMPLAINT), Verdict(BounceKind.DELAYED)
OR_HARD = Verdict(BounceKind.HARD, by_words=True)
OR_SOFT = Verdict(BounceKind.SOFT, by_words=True)
OR_POLICY = Verdict(BounceKind.POLICY, by_words=True)
OR_UNKNOWN = Verdict(BounceKind.UNKNOWN, by_words=True)
# Without words it may be a holiday reply.
OR_NOTHING = Verdict(BounceKind.AUTO_REPLY, by_words=True)

# Amazon SES's reasons, also Resend's:
# https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html#bounce-types
_SES_BOUNCES = {
    "": OR_UNKNOWN,
    "undetermined": OR_NOTHING,
    "permanent": OR_HARD,
    # On the suppression list of SES or of the account.
    "permanent/suppressed": HARD,
    "permanent/onaccountsuppressionlist": HARD,
    "permanent/unsubscribedrecipient": LEAVES,
    "transient": OR_SOFT,
    "transient/general": OR_NOTHING,
    "transient/mailboxfull": OR_SOFT,
    # Called transient, but about the letter.
    "transient/messagetoolarge": POLICY,
    "transient/contentrejected": POLICY,
    "transient/attachmentrejected": POLICY,
    # The account's time limit.
    "transient/customtimeoutexceeded": POLICY,
}


def _events(verdict: Verdict, *names: str) -> dict[str, Verdict]:
    return dict.fromkeys(names, verdict)


# By anymail's service name, then "type/reason" or "type".
VERDICTS: Mapping[str, Mapping[str, Verdict]] = {
    "Amazon SES": {
        **{f"bounce/{name}".rstrip("/"): verdict for name, verdict in _SES_BOUNCES.items()},
        "complaint": COMPLAINT,
        **_events(NOTHING, "send", "delivery", "open", "click", "subscription"),
        "subscription/unsubscribed": LEAVES,
        "deliverydelay": DELAYED,
        **_events(POLICY, "reject", "rendering failure"),
    },
    # https://developers.brevo.com/docs/transactional-webhooks
    "Brevo": {
        "hard_bounce": OR_HARD,
        "soft_bounce": OR_SOFT,
        "invalid_email": HARD,
        "deferred": DELAYED,
        **_events(COMPLAINT, "spam", "complaint"),
        **_events(LEAVES, "unsubscribe", "unsubscribed"),
        # On the account's blocklist; few events say why.
        "blocked": POLICY,
        "blocked/bounced": HARD,
        "blocked/complained": COMPLAINT,
        "blocked/unsubscribed": LEAVES,
        "error": POLICY,
        **_events(NOTHING, "request", "sent", "delivered", "click", "opened", "unique_opened", "proxy_open"),
        **_events(NOTHING, "unique_proxy_open", "loaded_by_proxy", "first_opening", "list_addition"),
    },
    # https://developers.mailersend.com/api/v1/webhooks.html#available-events
    "MailerSend": {
        "hard_bounced": OR_HARD,
        "soft_bounced": OR_SOFT,
        "deferred": DELAYED,
        "unsubscribed": LEAVES,
        "spam_complaint": COMPLAINT,
        **_events(NOTHING, "sent", "delivered", "opened", "opened_unique", "clicked", "clicked_unique"),
        **_events(NOTHING, "survey_opened", "survey_submitted"),
    },
    # https://documentation.mailgun.com/docs/mailgun/user-manual/events/event-structure
    "Mailgun": {
        # Permanent failure is no proof of a dead address: only words and these codes are.
        **_events(OR_SOFT, "failed", "bounced", "dropped"),
        **_events(HARD, "failed/605", "failed/suppress-bounce", "dropped/605"),
        **_events(LEAVES, "failed/606", "failed/suppress-unsubscribe", "dropped/606"),
        **_events(COMPLAINT, "failed/607", "failed/suppress-complaint", "dropped/607"),
        **_events(SOFT, "failed/602", "dropped/602"),
        # Mailgun retries.
        "failed/temporary": DELAYED,
        "rejected": POLICY,
        "complained": COMPLAINT,
        "unsubscribed": LEAVES,
        **_events(NOTHING, "accepted", "delivered", "opened", "clicked", "stored"),
    },
    # https://dev.mailjet.com/email/guides/webhooks/
    "Mailjet": {
        "bounce": OR_SOFT,
        "bounce/hard": OR_HARD,
        "blocked": POLICY,
        **{
            f"{event}/{error}": verdict
            for event in ("bounce", "blocked")
            for error, verdict in {
                **_events(OR_HARD, "user unknown", "mailbox inactive", "invalid domain", "typofix"),
                **_events(OR_SOFT, "quota exceeded", "no mail host", "connection issue"),
                **_events(OR_POLICY, "relay/access denied", "sender blocked", "content blocked"),
                **_events(OR_POLICY, "policy issue", "system issue", "protocol issue"),
                **_events(POLICY, "duplicate in campaign", "bad or empty template"),
                **_events(POLICY, "error in template language"),
                # On the account's list, reason unknown.
                "blacklisted": POLICY,
                "spam reporter": COMPLAINT,
                # Mailjet's list of recent bounces.
                "preblocked": SOFT,
            }.items()
        },
        # Mailjet retries.
        "bounce/greylisted": DELAYED,
        "bounce/hard/greylisted": OR_SOFT,
        "spam": COMPLAINT,
        "unsub": LEAVES,
        **_events(NOTHING, "sent", "open", "click"),
    },
    # https://docs.mailtrap.io/email-api-smtp/advanced/webhooks
    "Mailtrap": {
        "bounce": OR_SOFT,
        **_events(OR_HARD, "bounce/hard", "bounce/badmailbox", "bounce/bad mailbox"),
        **_events(OR_POLICY, "bounce/spam", "bounce/blocked", "bounce/policy"),
        "soft bounce": DELAYED,
        "spam": COMPLAINT,
        "unsubscribe": LEAVES,
        # By Mailtrap's list or because of the account.
        "reject": POLICY,
        "reject/bounced": HARD,
        "reject/complained": COMPLAINT,
        "reject/unsubscribed": LEAVES,
        "suspension": POLICY,
        **_events(NOTHING, "delivery", "open", "click"),
    },
    # https://mailchimp.com/developer/transactional/docs/webhooks/
    "Mandrill": {
        "hard_bounce": OR_HARD,
        "hard_bounce/mailbox_full": OR_SOFT,
        "soft_bounce": OR_SOFT,
        "deferral": DELAYED,
        "spam": COMPLAINT,
        "unsub": LEAVES,
        "reject": POLICY,
        **_events(HARD, "reject/hard-bounce", "reject/invalid"),
        "reject/soft-bounce": SOFT,
        "reject/spam": COMPLAINT,
        "reject/unsub": LEAVES,
        **_events(NOTHING, "send", "delivered", "open", "click", "whitelist", "blacklist", "inbound"),
    },
    # https://docs.postalserver.io/developer/webhooks
    "Postal": {
        "messagedeliveryfailed": OR_SOFT,
        "messagedelayed": DELAYED,
        # To the return path, like holiday replies.
        "messagebounced": OR_UNKNOWN,
        "messagebounced/report": OR_SOFT,
        "messagebounced/away": NOTHING,
        # For a person, or by Postal's list.
        "messageheld": POLICY,
        "messageheld/bounced": HARD,
        "messageheld/soft": SOFT,
        **_events(NOTHING, "messagesent", "messagelinkclicked", "messageloaded", "domaindnserror"),
        **_events(NOTHING, "sendlimitapproaching", "sendlimitexceeded"),
    },
    # https://postmarkapp.com/developer/api/bounce-api#bounce-types
    "Postmark": {
        "bounce/hardbounce": OR_HARD,
        "bounce/softbounce": OR_SOFT,
        **_events(DELAYED, "bounce/transient", "bounce/dnserror"),
        "bounce/unsubscribe": LEAVES,
        **_events(NOTHING, "bounce/subscribe", "bounce/autoresponder", "bounce/addresschange"),
        **_events(NOTHING, "bounce/openrelaytest", "bounce/inbounderror"),
        # By a filter; readers' complaints are "SpamComplaint".
        **_events(OR_POLICY, "bounce/spamnotification", "bounce/blocked"),
        **_events(POLICY, "bounce/virusnotification", "bounce/challengeverification", "bounce/dmarcpolicy"),
        **_events(POLICY, "bounce/manuallydeactivated", "bounce/unconfirmed", "bounce/smtpapierror"),
        "bounce/templaterenderingfailed": POLICY,
        "bounce/unknown": OR_UNKNOWN,
        "bounce/bademailaddress": HARD,
        **_events(COMPLAINT, "spamcomplaint", "bounce/spamcomplaint"),
        # Postmark's list. Without SuppressSending it is a removal.
        "subscriptionchange": NOTHING,
        "subscriptionchange/hardbounce": HARD,
        "subscriptionchange/spamcomplaint": COMPLAINT,
        "subscriptionchange/manualsuppression": LEAVES,
        # By Postmark's staff.
        "subscriptionchange/manualsuppression/admin": POLICY,
        "smtpapierror": POLICY,
        **_events(NOTHING, "delivery", "open", "click"),
    },
    # https://resend.com/docs/webhooks/event-types
    "Resend": {
        **{f"email.bounced/{name}".rstrip("/"): verdict for name, verdict in _SES_BOUNCES.items()},
        "email.complained": COMPLAINT,
        "email.delivery_delayed": DELAYED,
        "email.failed": POLICY,
        "email.suppressed": HARD,
        "email.suppressed/complained": COMPLAINT,
        "email.suppressed/unsubscribed": LEAVES,
        **_events(NOTHING, "email.sent", "email.scheduled", "email.delivered", "email.opened"),
        **_events(NOTHING, "email.clicked", "email.received"),
    },
    # https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event
    "SendGrid": {
        "bounce": OR_SOFT,
        "bounce/invalid address": OR_HARD,
        **_events(OR_SOFT, "bounce/technical", "bounce/technical failure", "bounce/mailbox unavailable"),
        # Despite its words about PTR records, the domain has no mail host.
        **_events(SOFT, "bounce/no mx", "dropped/no mx"),
        **_events(OR_POLICY, "bounce/blocked", "bounce/content", "bounce/reputation"),
        **_events(OR_POLICY, "bounce/frequency or volume too high", "bounce/frequency/volume too high"),
        "bounce/expired": SOFT,
        "deferred": DELAYED,
        # SendGrid's lists, or not sent.
        "dropped": POLICY,
        **_events(HARD, "dropped/bounced address", "dropped/bounce", "dropped/invalid"),
        "dropped/spam reporting address": COMPLAINT,
        **_events(LEAVES, "dropped/unsubscribed address", "dropped/group unsubscribe"),
        "dropped/expired": SOFT,
        "spamreport": COMPLAINT,
        **_events(LEAVES, "unsubscribe", "group_unsubscribe"),
        **_events(NOTHING, "processed", "delivered", "open", "click", "group_resubscribe"),
        "account_status_change": NOTHING,
    },
    # https://support.sparkpost.com/docs/deliverability/bounce-classification-codes
    "SparkPost": {
        **_events(POLICY, "policy_rejection", "generation_rejection", "generation_failure"),
        **{
            f"{event}{number}": verdict
            for event in ("bounce", "out_of_band", "policy_rejection", "generation_rejection")
            for number, verdict in {
                **(_events(OR_SOFT, "") if event in ("bounce", "out_of_band") else {}),
                **_events(OR_HARD, "/10", "/30"),
                **_events(OR_SOFT, "/1", "/20", "/21", "/22", "/24", "/40", "/70"),
                **_events(OR_POLICY, "/23", "/25", "/26", "/50", "/51", "/52", "/53", "/54"),
                **_events(NOTHING, "/60", "/80"),
                "/90": LEAVES,
                "/100": POLICY,
            }.items()
        },
        "spam_complaint": COMPLAINT,
        **_events(LEAVES, "list_unsubscribe", "link_unsubscribe"),
        "delay": DELAYED,
        **_events(NOTHING, "injection", "delivery", "open", "click", "initial_open"),
        **_events(NOTHING, "amp_open", "amp_click", "amp_initial_open"),
    },
    # https://godocs.unisender.ru/web-api-ref#callback-format
    "Unisender Go": {
        "hard_bounced": OR_SOFT,
        **_events(OR_HARD, "hard_bounced/err_user_unknown", "hard_bounced/err_user_inactive"),
        **_events(OR_HARD, "hard_bounced/err_mailbox_discarded", "hard_bounced/err_domain_inactive"),
        # Unisender's list of permanent bounces.
        "hard_bounced/err_unreachable": HARD,
        **_events(OR_SOFT, "hard_bounced/err_mailbox_full", "hard_bounced/err_destination_misconfigured"),
        **_events(SOFT, "hard_bounced/err_skip_letter", "hard_bounced/err_will_retry"),
        **_events(OR_POLICY, "hard_bounced/err_spam_rejected", "hard_bounced/err_blacklisted"),
        **_events(POLICY, "hard_bounced/err_too_large", "hard_bounced/err_spam_skipped"),
        "hard_bounced/err_lost": POLICY,
        "hard_bounced/err_unsubscribed": LEAVES,
        "soft_bounced": DELAYED,
        "spam": COMPLAINT,
        "unsubscribed": LEAVES,
        **_events(NOTHING, "sent", "delivered", "opened", "clicked", "subscribed"),
    },
}
