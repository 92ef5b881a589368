"""Routes of the web service."""

from django.urls import URLPattern, URLResolver, path

from replication.hub.api import api

urlpatterns: list[URLPattern | URLResolver] = [path("", api.urls)]
