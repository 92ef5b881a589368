"""What is known about the agents and their logs."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    name = "ingest"
