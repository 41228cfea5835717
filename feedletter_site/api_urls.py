from typing import Any

from django.urls import include, path, re_path
from rest_framework.routers import DefaultRouter, Route

from delivery.api.views import (
    ChannelViewSet,
    DeliveryViewSet,
    IssueViewSet,
    LetterViewSet,
    SendableSubscribableViewSet,
)
from feedletter_site.api.assistants import AssistantView
from feedletter_site.api.views import NothingHere, SchemaView
from subscriptions.api.newsletters import (
    DestinationViewSet,
    DroppableFeedViewSet,
    ExcludableItemViewSet,
    SiteViewSet,
)
from subscriptions.api.subscribe import SubscribeView
from subscriptions.api.subscribers import SubscriptionViewSet


class Router(DefaultRouter):
    # A newsletter's name may end in “.json”.
    include_format_suffixes = False

    def __init__(self) -> None:
        super().__init__()
        # A redirect to the slash would turn a POST into a GET.
        self.trailing_slash = "/?"

    def get_routes(self, viewset: Any) -> list[Any]:
        """Put a single object at the address of the list."""
        if not getattr(viewset, "is_single", False):
            return super().get_routes(viewset)
        mapping = {"get": "retrieve", "patch": "partial_update"}
        return [Route("^{prefix}{trailing_slash}$", mapping, "{basename}", detail=False, initkwargs={})]


router = Router()
router.register("feeds", DroppableFeedViewSet, basename="api-feed")
router.register("items", ExcludableItemViewSet, basename="api-item")
router.register("channels", ChannelViewSet, basename="api-channel")
router.register("subscribables", SendableSubscribableViewSet, basename="api-subscribable")
router.register("subscriptions", SubscriptionViewSet, basename="api-subscription")
router.register("destinations", DestinationViewSet, basename="api-destination")
router.register("letters", LetterViewSet, basename="api-letter")
router.register("issues", IssueViewSet, basename="api-issue")
router.register("deliveries", DeliveryViewSet, basename="api-delivery")
router.register("site", SiteViewSet, basename="api-site")

urlpatterns = [
    path("schema/", SchemaView.as_view(), name="api-schema"),
    path("subscribables/<str:name>/subscribe/", SubscribeView.as_view(), name="api-subscribe"),
    re_path("^mcp/?$", AssistantView.as_view(), name="api-mcp"),
    path("", include(router.urls)),
    re_path(r"^[\s\S]*\Z", NothingHere.as_view(), name="api-nothing"),
]
