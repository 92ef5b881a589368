"""Forgetting: tombstones, what they cover, by id and by value, and restoring."""
