from django.urls import re_path

from forms_app.script.view import serve_script

urlpatterns = [
    re_path(r"^(?P<name>forms(\.(proof|more|debug|files))?(\.[0-9a-f]{12})?\.js)$", serve_script, name="forms-js")
]
