"""Training: a collection becomes a run, in five rooms on what stands here.

    here        settings and presets, and how a stage, a command and several processes run
    data        what stages learn from
    stages      encoder → features → quantizer → decoder → index; reader, maps, names
    own         a person's folder, vectors or IDs become a run
    paper       ablations, and the published checkpoints
    demo        how the shipped runs are made, and what is measured on them

A room imports those above it. Commands are named without their room, e.g. `python -m
training.folder`; modules are imported with it, e.g. `training.own.folder`.
"""

from pathlib import Path

from genius.reports import read_notes

ROOMS = ("data", "stages", "own", "paper", "demo")  # each imports those before it

FOLDER = Path(__file__).parent
__path__ += [str(FOLDER / room) for room in ROOMS]  # for `python -m`
NOTES = read_notes(FOLDER / "report_notes.toml")  # what reports say about their figures
