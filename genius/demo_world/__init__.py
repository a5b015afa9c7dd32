"""The procedural world: an M-BEIR-format collection that is drawn and written from a seed."""
