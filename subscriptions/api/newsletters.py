"""Newsletters and bridges. For pausing see delivery/api."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from common.api.resources import ResourceViewSet
from common.api.views import ApiView
from common.resources import Resource
from feeds.api.views import FeedViewSet, ItemViewSet
from feeds.models import Feed
from subscriptions.api import bodies
from subscriptions.api.bodies import ChangeSite, DestinationSerializer, SubscribableSerializer
from subscriptions.branding.brands import SITE_FIELDS, alter_site, picture_url, site_settings
from subscriptions.models import SiteSettings
from subscriptions.newsletters.define import alter_subscribable, define_subscribable
from subscriptions.resources.newsletters import feeds, items, newsletters
from subscriptions.resources.subscribers import destinations


class DestinationViewSet(ResourceViewSet):
    area = "subscribers"
    resource = destinations
    serializer_class = DestinationSerializer


class SiteSerializer(serializers.ModelSerializer[SiteSettings]):
    """The site as readers see it. Empty: the default."""

    logo = serializers.SerializerMethodField(help_text="Its URL. Upload it in the admin or with set_site.")

    # The model's URLField would not allow "".
    imprint_url = serializers.CharField(help_text="A URL. Empty for none.")
    privacy_url = serializers.CharField(help_text="A URL. Empty for none.")

    class Meta:
        model = SiteSettings
        fields = SITE_FIELDS
        read_only_fields = fields

    def get_logo(self, row: SiteSettings) -> str:
        return picture_url(row.logo_id)


class SiteViewSet(ApiView, GenericViewSet[Any]):
    area = "site"
    is_single = True
    queryset = SiteSettings.objects.all()
    serializer_class = SiteSerializer
    bodies: ClassVar = {"partial_update": ChangeSite}

    @extend_schema(summary="The site’s settings")
    def retrieve(self, request: Request, **_: Any) -> Response:
        """As they are now."""
        return Response(SiteSerializer(site_settings()).data)

    @extend_schema(summary="Change the site’s settings")
    def partial_update(self, request: Request, **_: Any) -> Response:
        """They apply to pages and emails at once. Issues made before don't change."""
        return Response(SiteSerializer(alter_site(**self.body())).data)


class DroppableFeedViewSet(FeedViewSet):
    resource = feeds


class ExcludableItemViewSet(ItemViewSet):
    resource = items


class SubscribableViewSet(ResourceViewSet):
    area = "newsletters"
    resource: ClassVar[Resource[Any]] = newsletters
    serializer_class = SubscribableSerializer
    lookup_field = "name"
    lookup_value_regex = "[A-Za-z0-9._-]+"
    bodies: ClassVar = {"create": bodies.DefineSubscribable, "partial_update": bodies.ChangeSubscribable}

    @extend_schema(summary="Define a newsletter or bridge", responses={201: SubscribableSerializer})
    def create(self, request: Request) -> Response:
        """409 when there is one of this name."""
        asked = self.body()
        made = define_subscribable(feeds=feeds_of(asked.pop("feeds")), **asked)
        return self.shown(made.pk, code=status.HTTP_201_CREATED)

    @extend_schema(summary="Change a newsletter or bridge")
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Open collections keep their time."""
        asked = self.body()
        feeds = feeds_of(asked.pop("feeds")) if "feeds" in asked else None
        altered = alter_subscribable(subscribable=self.get_object(), feeds=feeds, **asked)
        return self.shown(altered.pk)


def feeds_of(keys: list[int]) -> list[Feed]:
    """Return unique feeds by key. Raises ValidationError."""
    feeds = Feed.objects.in_bulk(keys)
    if missing := [str(key) for key in keys if key not in feeds]:
        raise ValidationError({"feeds": f"There is no feed {', '.join(missing[:20])}."})
    return list(feeds.values())
