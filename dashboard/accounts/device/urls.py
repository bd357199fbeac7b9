from django.urls import path

from dashboard.accounts.device.endpoints import code, token
from dashboard.accounts.device.page import device_login

urlpatterns = [
    path("device", device_login, name="device-login"),
    path("device/code", code, name="device-code"),
    path("device/token", token, name="device-token"),
]
