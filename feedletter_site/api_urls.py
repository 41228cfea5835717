"""/api/v1/: read endpoints for staff, the public sign-up and the public schema."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import DefaultRouter

from delivery.api.views import DeliveryViewSet, IssueViewSet
from feeds.api.views import FeedViewSet, ItemViewSet
from subscriptions.api.subscribe import SubscribeView
from subscriptions.api.views import DestinationViewSet, SubscribableViewSet, SubscriptionViewSet


class Router(DefaultRouter):
    # A newsletter's name may end in “.json”.
    include_format_suffixes = False


router = Router()
router.register("feeds", FeedViewSet, basename="api-feed")
router.register("items", ItemViewSet, basename="api-item")
router.register("subscribables", SubscribableViewSet, basename="api-subscribable")
router.register("subscriptions", SubscriptionViewSet, basename="api-subscription")
router.register("destinations", DestinationViewSet, basename="api-destination")
router.register("issues", IssueViewSet, basename="api-issue")
router.register("deliveries", DeliveryViewSet, basename="api-delivery")

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("subscribables/<str:name>/subscribe/", SubscribeView.as_view(), name="api-subscribe"),
    path("", include(router.urls)),
]
