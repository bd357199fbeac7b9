from django.urls import path

from keys.views import AccessKeyViewSet

urlpatterns = [
    path("keys", AccessKeyViewSet.as_view({"get": "list", "post": "create"}), name="keys"),
    path("keys/<str:id>", AccessKeyViewSet.as_view({"get": "retrieve", "delete": "destroy"}), name="key"),
    path("keys/<str:id>/regenerate", AccessKeyViewSet.as_view({"post": "regenerate"}), name="key-regenerate"),
]
