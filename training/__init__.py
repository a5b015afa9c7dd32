"""Training: a collection becomes a run. encoder → features → quantizer → decoder → index."""

from pathlib import Path

from genius.reports import read_notes

# what reports say about their figures
NOTES = read_notes(Path(__file__).with_name("report_notes.toml"))
