"""The Markdown memories that agents keep for themselves: where they lie, what a version says, and importing them.

Facts of the formats: docs/sources. They are read one way only and never written.
"""
