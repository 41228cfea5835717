"""Broadcasts: emails that editors write."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.problems import InvalidRequest
from common.api.views import ResourceViewSet
from common.clock import utcnow
from common.ports.channels import InvalidDestination
from delivery.api.bodies import ChangeLetter, LetterParameters, LetterTest, SendLetter, WriteLetter
from delivery.api.serializers import LetterReadersSerializer, LetterSerializer
from delivery.issues.audience import altered_audience, audience_words, chosen_audience, count_readers
from delivery.issues.broadcast_issue import letter_text, send_letter
from delivery.issues.broadcasts import (
    begin_letter,
    drop_letter,
    in_letter_state,
    save_letter,
    schedule_letter,
    unschedule_letter,
)
from delivery.letters.send_test import send_test_written
from delivery.models import Broadcast
from delivery.rules.audience import AUDIENCE_PARTS
from subscriptions.models import Subscribable


def _audience(asked: dict[str, Any]) -> dict[str, list[str]]:
    return {part: asked[part] for part in AUDIENCE_PARTS if part in asked}


class LetterViewSet(ResourceViewSet):
    area = "letters"
    queryset = Broadcast.objects.select_related("subscribable")
    serializer_class = LetterSerializer
    parameters: ClassVar = {"list": LetterParameters}
    bodies: ClassVar = {
        "create": WriteLetter,
        "partial_update": ChangeLetter,
        "send": SendLetter,
        "test": LetterTest,
    }
    filters: ClassVar = {"subscribable": "subscribable__name"}

    def narrowed(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        rows = super().narrowed(rows)
        return in_letter_state(rows, self.asked["state"]) if "state" in self.asked else rows

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

    @extend_schema(summary="Delete an email")
    def destroy(self, request: Request, **_: Any) -> Response:
        """409 if it was sent."""
        drop_letter(letter_id=self.get_object().pk)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(summary="Count an email’s recipients", responses=LetterReadersSerializer)
    @action(detail=True)
    def readers(self, request: Request, **_: Any) -> Response:
        """Count who would get it now. 409 if a tag or newsletter that it names was deleted."""
        letter = self.get_object()
        count, every = count_readers(letter)
        shown = {"count": count, "of": every, "to": audience_words(letter)}
        return Response(LetterReadersSerializer(shown).data)

    @extend_schema(summary="Send an email")
    @action(detail=True, methods=["post"])
    def send(self, request: Request, **_: Any) -> Response:
        """Send it to its recipients, now or at a time. It becomes an issue.

        409 if it was sent, or if nobody would get it.
        """
        letter, asked, now = self.get_object(), self.body(), utcnow()
        version = asked.get("version", letter.version)
        if "at" in asked:
            schedule_letter(letter_id=letter.pk, at=asked["at"], version=version, now=now)
        else:
            send_letter(letter_id=letter.pk, version=version, now=now)
        return self.shown()

    @extend_schema(summary="Unschedule an email", request=None)
    @action(detail=True, methods=["post"])
    def unschedule(self, request: Request, **_: Any) -> Response:
        """It becomes a draft again. 409 if it was sent."""
        unschedule_letter(letter_id=self.get_object().pk)
        return self.shown()

    @extend_schema(summary="Send a test to one address")
    @action(detail=True, methods=["post"])
    def test(self, request: Request, **_: Any) -> Response:
        """Marked “Test” in its subject."""
        letter, to = self.get_object(), self.body()["to"]
        try:
            send_test_written(subscribable=letter.subscribable, text=letter_text(letter), to=to, now=utcnow())
        except InvalidDestination as error:
            raise InvalidRequest({"to": [str(error)]}) from error
        return self.shown()
