"""Origin's store and every operation on it."""

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
