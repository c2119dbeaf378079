"""Showing a run: three renderers of the same events, and the summary at the end."""
