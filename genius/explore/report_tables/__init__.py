"""The reports of a run as tables of strings, for the page."""
