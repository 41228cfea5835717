"""The site's own settings. There is one of them, so its address has no key. The logo is sent elsewhere."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from common.api.views import ApiView
from subscriptions.api.bodies import ChangeSite
from subscriptions.branding.pictures import picture_url
from subscriptions.branding.site import alter_site, site_settings
from subscriptions.models import SiteSettings


class SiteSerializer(serializers.ModelSerializer[SiteSettings]):
    """What readers see of the whole. Empty: the usual."""

    logo = serializers.SerializerMethodField(help_text="Its address; uploaded in the admin or by set_site.")

    # Not the model's URLField: an empty text is no URI.
    imprint_url = serializers.CharField(help_text="An address; empty for none.")
    privacy_url = serializers.CharField(help_text="An address; empty for none.")

    class Meta:
        model = SiteSettings
        fields = ("name", "about", "logo", "logo_says_name", "accent", "imprint_url", "privacy_url")
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
        """Pages and letters wear them at once. Issues that have been made stay as they are."""
        return Response(SiteSerializer(alter_site(**self.body())).data)
