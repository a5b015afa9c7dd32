"""The demo world: a procedural dataset in M-BEIR format, generated from a seed."""
