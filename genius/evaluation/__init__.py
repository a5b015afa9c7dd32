"""Measures how well a run finds things: see README.md for the commands."""

from pathlib import Path

from genius.reports import read_notes

# what reports say about their figures
NOTES = read_notes(Path(__file__).with_name("report_notes.toml"))
