"""Entries: what was remembered, its versions, trust and sources."""
