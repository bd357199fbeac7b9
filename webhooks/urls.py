from django.urls import path

from webhooks.views import DeliveryViewSet, WebhookViewSet

urlpatterns = [
    path("webhooks", WebhookViewSet.as_view({"get": "list", "post": "create"}), name="webhooks"),
    path(
        "webhooks/<str:id>",
        WebhookViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="webhook",
    ),
    path("webhooks/<str:id>/test", WebhookViewSet.as_view({"post": "test"}), name="webhook-test"),
    path(
        "webhooks/<str:id>/rotate-secret",
        WebhookViewSet.as_view({"post": "rotate_secret"}),
        name="webhook-rotate-secret",
    ),
    path("webhooks/<str:id>/replay", WebhookViewSet.as_view({"post": "replay"}), name="webhook-replay"),
    path("webhooks/<str:id>/deliveries", DeliveryViewSet.as_view({"get": "of_webhook"}), name="webhook-deliveries"),
    path("deliveries/<str:id>/retry", DeliveryViewSet.as_view({"post": "retry"}), name="delivery-retry"),
]
