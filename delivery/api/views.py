"""Issues, deliveries, letters, channels, and the sending of newsletters."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from channels.letter import LetterError
from common.api.fields import Fields, StrictInteger, Text, Texts
from common.api.problems import InvalidRequest
from common.api.resources import ResourceViewSet
from common.api.views import ApiView
from common.clock import utcnow
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.ports.panels import CannotAct
from delivery.api.serializers import (
    DeliverySerializer,
    IssueSerializer,
    LetterReadersSerializer,
    LetterSerializer,
    WholeDeliverySerializer,
)
from delivery.bridges.connect import connections_of
from delivery.bridges.trial_posts import NotDone, delete_test, post_row, post_test, standing_tests
from delivery.issues import progress
from delivery.issues.audience import altered_audience, audience_words, chosen_audience, count_readers
from delivery.issues.broadcasts import MOST_MARKDOWN, begin_letter, save_letter
from delivery.letters.samples import NothingToShow
from delivery.rendering.subjects import LONGEST_SUBJECT
from delivery.resources.deliveries import deliveries
from delivery.resources.issues import issues, newsletters
from delivery.resources.letters import letters
from delivery.rules.audience import AUDIENCE_PARTS
from subscriptions.api.bodies import name, tags_field, words
from subscriptions.api.newsletters import SubscribableViewSet
from subscriptions.api.subscribers import at_its_field
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.tags import MOST_TAGS_OF_ONE

ANY_OF = "Send only to subscribers with one of these tags. Empty: to everybody."
NONE_OF = "Don’t send to subscribers with one of these tags."


def _others() -> serializers.ListField:
    told = "Names of newsletters whose readers get it, too, each person once."
    return serializers.ListField(child=name(), max_length=MOST_TAGS_OF_ONE, required=False, help_text=told)


class WriteLetter(Fields):
    """A draft: nothing is sent."""

    subscribable = name("The newsletter’s name.")
    subject = words(LONGEST_SUBJECT)
    markdown = words(MOST_MARKDOWN, "CommonMark with tables and %Fields%; html stays text.")
    any_of = tags_field(ANY_OF)
    none_of = tags_field(NONE_OF)
    others = _others()


class ChangeLetter(Fields):
    """Fields that are left out stay as they are."""

    subject = words(LONGEST_SUBJECT)
    markdown = words(MOST_MARKDOWN)
    any_of = tags_field(ANY_OF)
    none_of = tags_field(NONE_OF)
    others = _others()
    version = StrictInteger(
        required=False, help_text="The version that you read. 409 if the email was changed since."
    )


class CheckDestination(Fields):
    """A destination that nobody has to keep for it."""

    channel = Text(min_length=1, max_length=20, help_text="As `/api/v1/channels` lists them.")
    to = Texts(longest=5000, most=20, help_text="The channel’s own fields.")


class IssueViewSet(ResourceViewSet):
    area = "sending"
    resource = issues
    serializer_class = IssueSerializer

    def paginate_queryset(self, queryset: Any) -> Any:
        """Counts the deliveries of all issues of a page by one question."""
        return with_counts(super().paginate_queryset(queryset) or [])

    def get_object(self) -> Any:
        return with_counts([super().get_object()])[0]


def with_counts(issues: list[Any]) -> list[Any]:
    counts = progress.counts_of(issue.pk for issue in issues)
    for issue in issues:
        issue.counts = counts[issue.pk]
    return issues


class DeliveryViewSet(ResourceViewSet):
    area = "sending"
    resource = deliveries
    serializer_class = WholeDeliverySerializer

    def get_serializer_class(self) -> Any:
        return DeliverySerializer if self.action == "list" else WholeDeliverySerializer


def _audience(asked: dict[str, Any]) -> dict[str, list[str]]:
    return {part: asked[part] for part in AUDIENCE_PARTS if part in asked}


class LetterViewSet(ResourceViewSet):
    area = "letters"
    resource = letters
    serializer_class = LetterSerializer
    bodies: ClassVar = {"create": WriteLetter, "partial_update": ChangeLetter}

    @extend_schema(summary="Create an email", responses={201: LetterSerializer})
    def create(self, request: Request) -> Response:
        """Create a draft. 422 for a bridge, which sends no email."""
        asked = self.body()
        newsletter = Subscribable.objects.named(asked["subscribable"]).first()
        if newsletter is None:
            raise ValidationError({"subscribable": f"There is no newsletter {asked['subscribable']}."})
        made = begin_letter(
            subscribable=newsletter,
            audience=chosen_audience(newsletter, **_audience(asked)),
            subject=asked.get("subject", ""),
            markdown=asked.get("markdown", ""),
            author=request.user.get_username(),
            now=utcnow(),
        )
        return self.shown(made.pk, code=status.HTTP_201_CREATED)

    @extend_schema(summary="Change a draft")
    def partial_update(self, request: Request, **_: Any) -> Response:
        """409 for one that is scheduled or sent, and for one that was changed meanwhile."""
        letter, asked = self.get_object(), self.body()
        save_letter(
            letter_id=letter.pk,
            subject=asked.get("subject"),
            markdown=asked.get("markdown"),
            audience=altered_audience(letter, **named) if (named := _audience(asked)) else None,
            version=asked.get("version", letter.version),
            now=utcnow(),
        )
        return self.shown()

    @extend_schema(summary="Count an email’s recipients", responses=LetterReadersSerializer)
    @action(detail=True)
    def readers(self, request: Request, **_: Any) -> Response:
        """Count who would get it now. 409 if a tag or newsletter that it names was deleted."""
        letter = self.get_object()
        count, every = count_readers(letter)
        shown = {"count": count, "of": every, "to": audience_words(letter)}
        return Response(LetterReadersSerializer(shown).data)


class FieldSerializer(serializers.Serializer[channels.Field]):
    """`secret`: it is never shown again."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    help = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    secret = serializers.BooleanField()


class ChannelSerializer(serializers.Serializer[channels.ChannelSpec]):
    """`public_sign_up`: readers subscribe to it themselves. Without it, it is for bridges."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    sentence = serializers.CharField()
    public_sign_up = serializers.BooleanField()
    arrangements = serializers.SerializerMethodField()
    destination_fields = FieldSerializer(many=True)
    option_fields = FieldSerializer(many=True)

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_arrangements(self, spec: channels.ChannelSpec) -> list[str]:
        return sorted(spec.arrangements)


class CheckedDestinationSerializer(serializers.Serializer[Any]):
    """How the service calls it."""

    channel = serializers.CharField()
    destination = serializers.CharField()


class ChannelViewSet(ApiView, GenericViewSet[Any]):
    area = "newsletters"
    # Permissions are those on newsletters.
    queryset = Subscribable.objects.none()
    serializer_class = ChannelSerializer
    pagination_class = None
    bodies: ClassVar = {"check": CheckDestination}

    @extend_schema(summary="All channels", responses=ChannelSerializer(many=True))
    def list(self, request: Request) -> Response:
        """On one page."""
        every: Any = channels.all_kinds()
        return Response(ChannelSerializer(every, many=True).data)

    @extend_schema(summary="Ask a service about a destination", responses=CheckedDestinationSerializer)
    @action(detail=False, methods=["post"])
    def check(self, request: Request) -> Response:
        """Nothing is kept or posted. 422 with what the service says against it."""
        asked = self.body()
        try:
            kind = channels.get(asked["channel"])
        except InvalidDestination as error:
            raise InvalidRequest({"channel": [str(error)]}) from error
        try:
            parsed = kind.check(kind.parse_destination(asked["to"]))
        except InvalidDestination as error:
            raise InvalidRequest({"to": at_its_field(str(error), asked["to"])}) from error
        return Response({"channel": kind.key, "destination": parsed.label})


class TestPostSerializer(serializers.Serializer[Any]):
    """A test post of a bridge. `url` is where people see it, where the service says so."""

    id = serializers.IntegerField(help_text="Of its delivery.")
    destination = serializers.CharField()
    url = serializers.CharField()
    remote_id = serializers.CharField()


class SendableSubscribableViewSet(SubscribableViewSet):
    resource = newsletters
    refusals = (CannotAct, NotDone, NothingToShow, LetterError)

    @extend_schema(
        summary="Post a bridge’s newest post now", request=None, responses=TestPostSerializer(many=True)
    )
    @action(detail=True, methods=["post"], url_path="post-test")
    def post_test(self, request: Request, **_: Any) -> Response:
        """Post to all its connections. 409 for a newsletter, or with the reason if a service refuses."""
        rows = [post_test(subscription=each, now=utcnow()) for each in self.connections()]
        return Response([post_row(row) for row in rows])

    @extend_schema(
        summary="Delete a bridge’s test posts", request=None, responses=TestPostSerializer(many=True)
    )
    @action(detail=True, methods=["post"], url_path="delete-test")
    def delete_test(self, request: Request, **_: Any) -> Response:
        """Returns the posts that were deleted. 409 with the reason if a service refuses."""
        rows = [row for each in self.connections() for row in standing_tests(each)]
        for row in rows:
            delete_test(delivery=row, now=utcnow())
        return Response([post_row(row) for row in rows])

    def connections(self) -> list[Subscription]:
        """Raise CannotAct for a newsletter."""
        bridge = self.get_object()
        if channels.get(bridge.channel).public_sign_up:
            raise CannotAct(f"“{bridge}” is no bridge: it has no test posts.")
        return connections_of(bridge)
