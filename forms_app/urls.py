from django.urls import path

from forms_app.views import FormViewSet

urlpatterns = [
    path("forms", FormViewSet.as_view({"get": "list", "post": "create"}), name="forms"),
    path(
        "forms/<str:id>",
        FormViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="form",
    ),
    path("forms/<str:id>/publish", FormViewSet.as_view({"post": "publish"}), name="form-publish"),
    path("forms/<str:id>/unpublish", FormViewSet.as_view({"post": "unpublish"}), name="form-unpublish"),
]
