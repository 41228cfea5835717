"""Models of an export, and models and fields that it leaves out, with the reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import Q

from common.secrets import SecretsField

# Models that KEYS refer to come first.
_CARRIED: Mapping[str, str] = {
    "auth": "Group User User_groups User_user_permissions Group_permissions",
    "feeds": "Tag Feed Feed_tags FeedDocument Item ItemPage ItemVersion TrackedItem",
    "subscriptions": "Picture SiteSettings Subscribable Subscribable_feeds OldName PostRule LeftOut SeenLink"
    " FailedAssignment Assignable Assignment Destination ErasureKey ErasedMark Suppression SubscriberTag"
    " Tagging AddressChange Subscription OldNumber UpstreamSalt Consent FrequencyChange"
    " SeriesRun",
    "delivery": "Account DkimKey Lane LaneDomain LaneUse LetterTemplate Theme Webhook Webhook_newsletters"
    " IssueImport IssueImportLine IssueImportPicture Issue IssueItem IssueVersion SetAside IssueCard"
    " Broadcast ToldCorrection Correction Restore Delivery Attempt Receipt RemotePost MailboxMessage Bounce",
    "fediverse": "Actor RemoteActor Follower Reaction",
    "chat": "BotSettings Guild BotFeed GuildFeed ServerAlert",
    "reader": "Reader Token AppPassword Invitation Channel Letters Follow Mute Entry TimelineEntry Unread"
    " Star Mention Composition Photo MailAddress MailSource MailMessage",
    "feedletter_site": "Member Member_newsletters Origin ApiToken FirstStep",
}
OF_AN_ISSUE = Q(delivery__issue__isnull=False)
# Other emails, such as confirmations, are for the old site to send.
_ROWS: Mapping[str, Q] = {
    "delivery.Delivery": Q(issue__isnull=False),
    "delivery.Attempt": OF_AN_ISSUE,
    "delivery.Receipt": OF_AN_ISSUE,
    "delivery.RemotePost": OF_AN_ISSUE,
    "delivery.MailboxMessage": OF_AN_ISSUE,
    "delivery.Bounce": OF_AN_ISSUE | Q(delivery=None),
}
# References to these models are written by these fields. Others are written by number: two feeds may have
# one URL. Numbers stay, because links, Message-IDs and apps have them.
NATURAL_KEYS: Mapping[str, tuple[str, ...]] = {
    "auth.Group": ("name",),
    "auth.Permission": ("content_type__app_label", "content_type__model", "codename"),
    "auth.User": ("username",),
    "feedletter_site.Member": ("user__username",),
    "feeds.Tag": ("name",),
    "reader.Reader": ("slug",),
    "reader.Channel": ("reader__slug", "uid"),
    "subscriptions.Subscribable": ("name",),
    "subscriptions.SubscriberTag": ("key",),
    "subscriptions.Destination": ("kind", "core"),
    "delivery.Issue": ("subscribable__name", "within_type_id"),
}
LEASES = ("lease_token", "lease_until", "seal_token", "seal_until")
# A worker of the old site has the leases, and newsletters arrive paused. Of a delivery, a lease that has run
# out says that it may have been sent.
LEFT_OUT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "subscriptions.Subscribable": ("sending_paused_at", "sending_paused_reason"),
    "delivery.Delivery": (),
    # Links lead to the old site.
    "feedletter_site.Member": ("digest",),
}
# Besides each SecretsField. Rows of USELESS models are nothing without theirs.
SECRETS: Mapping[str, tuple[str, ...]] = {
    "auth.User": ("password",),
    "reader.Token": ("digest", "refresh_digest", "spent_digest"),
    "reader.AppPassword": ("digest",),
    "reader.Invitation": ("digest",),
    "feedletter_site.ApiToken": ("digest",),
}
USELESS = {"delivery.DkimKey", "subscriptions.ErasureKey", "subscriptions.UpstreamSalt", *SECRETS} - {
    "auth.User"
}
# By the reason.
LEFT_OUT: Mapping[str, str] = {
    "made by migrate or by workers": "auth.Permission contenttypes.ContentType feedletter_site.Stage"
    " django_celery_beat.SolarSchedule django_celery_beat.IntervalSchedule feedletter_site.Figure"
    " django_celery_beat.ClockedSchedule django_celery_beat.CrontabSchedule feedletter_site.Counted"
    " django_celery_beat.PeriodicTasks django_celery_beat.PeriodicTask common.Tally feeds.Host"
    " delivery.ServiceBreaker delivery.LaneShare reader.FeedIcon",
    "the old site's log": "admin.LogEntry feeds.Poll",
    "valid for minutes or hours": "sessions.Session usersessions.UserSession subscriptions.SignInRequest"
    " subscriptions.SignIn subscriptions.SignUpCode fediverse.Activity chat.Interaction reader.Code"
    " reader.Marking",
    "people set it up anew, as passkeys are made for one address": "mfa.Authenticator",
    "not used here": "account.EmailAddress account.EmailConfirmation socialaccount.SocialApp"
    " socialaccount.SocialToken",
    "made at the next sign-in, or connected by the reader": "socialaccount.SocialAccount",
    "hubs call the old address; the new site subscribes anew": "feeds.HubSubscription feeds.Push",
    "programs subscribed to the old address": "delivery.HubSubscriber",
    "emails and calls that the old site still makes": "subscriptions.Notice delivery.WebhookCall"
    " fediverse.Outgoing",
    "uploads, which are finished there": "subscriptions.ListImport subscriptions.ListPart"
    " subscriptions.ListChange subscriptions.RefusedLine reader.FollowList reader.FollowLine"
    " feedletter_site.Arrival feedletter_site.ArrivalPiece feedletter_site.ArrivalLine"
    " delivery.IssueImportPiece",
}


@dataclass(frozen=True, slots=True)
class ExportedPart:
    label: str

    @property
    def model(self) -> type[models.Model]:
        return apps.get_model(self.label)

    @property
    def rows(self) -> "models.QuerySet[models.Model]":
        return self.model._base_manager.filter(_ROWS.get(self.label, Q()))

    @property
    def file(self) -> str:
        return f"data/{self.label}.jsonl"

    @property
    def needs_secrets(self) -> bool:
        return self.label in USELESS

    @property
    def fields(self) -> "list[models.Field[Any, Any]]":
        left_out = LEFT_OUT_FIELDS.get(self.label, LEASES)
        return [field for field in self.model._meta.concrete_fields if field.name not in left_out]


def is_secret(field: "models.Field[Any, Any]") -> bool:
    return isinstance(field, SecretsField) or field.name in SECRETS.get(field.model._meta.label, ())


EXPORTED_PARTS = [ExportedPart(f"{app}.{name}") for app, names in _CARRIED.items() for name in names.split()]
