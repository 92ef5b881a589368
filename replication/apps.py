"""What crosses a process or a machine."""

from django.apps import AppConfig


class ReplicationConfig(AppConfig):
    name = "replication"
