"""The sections of the Reports tab: for each report its texts, its tables and its plots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plotly.graph_objects import Figure

from genius.explore.report_tables.ablation_tables import ablation_choices, ablation_note, ablation_tables, encoder_note
from genius.explore.report_tables.hostile_tables import hostile_note, hostile_tables
from genius.explore.report_tables.paper_tables import (
    captions_note,
    captions_tables,
    shared_note,
    shared_tables,
    throughput_note,
    throughput_tables,
)
from genius.explore.report_tables.report_data import Report, Table
from genius.explore.report_tables.retrieval_tables import (
    hit_tables,
    pool_names,
    retrieval_note,
    times_note,
    times_table,
)
from genius.explore.report_tables.speed_tables import speed_choices, speed_note, speed_tables
from genius.explore.report_tables.training_tables import (
    STAGES,
    health_note,
    health_tables,
    training_note,
    training_tables,
)
from genius.explore.report_tables.uploads_tables import uploads_note, uploads_tables
from genius.ui.reports import figure


@dataclass(frozen=True)
class Plot:
    """One plot of a section."""

    label: str  # for screen readers
    height: int  # in pixels
    draw: Callable[[Report, str | None], Figure | None]  # from the report and the choice; None: nothing to draw


@dataclass(frozen=True)
class Section:
    """The part of the tab that shows one report."""

    name: str
    title: str
    lead: str  # what the section shows, for people outside the field
    report: str  # name of its file, without the suffix
    note: Callable[[Report], str]
    tables: Callable[[Report, str | None], list[Table]]
    plots: tuple[Plot, ...] = ()
    choices: Callable[[Report], list[str]] = lambda report: []  # of which the visitor selects one
    optional: bool = False  # nothing is shown where a run lacks the report


SECTIONS = (
    Section(
        "hits",
        "Hit rate",
        "How often a right item is among the first results. “dense” compares the question with every item; “beam” and "
        "“fast” write IDs, “geometry” does so without the decoder; “re-rank” orders what they found by similarity, "
        "“ranker” by all that is known of it.",
        "retrieval",
        retrieval_note,
        hit_tables,
        (Plot("Hit rate per benchmark row and system, with intervals", 860, figure.hit_rates),),
        pool_names,
    ),
    Section(
        "times",
        "Search time",
        "How long a search takes, step by step: “encode” turns the query into a vector; “scan” compares this with "
        "every item; “beam search” writes IDs instead.",
        "retrieval",
        times_note,
        times_table,
        (Plot("Milliseconds per query by system and stage", 380, figure.times),),
        pool_names,
    ),
    Section(
        "speed",
        "Speed by collection size",
        "How the time grows with the number of items: that of comparing with every item grows in step, that of writing "
        "an ID far less.",
        "speed",
        speed_note,
        speed_tables,
        (Plot("Milliseconds per query by number of items", 460, figure.speed),),
        speed_choices,
    ),
    Section(
        "training",
        "Training",
        "How the parts of the model learned. The loss (the error) should fall; validation (how often it is right on "
        "questions it did not learn from) should rise. An epoch is one pass over all data.",
        "training",
        training_note,
        training_tables,
        tuple(
            Plot(
                f"Losses and validation rates of the {stage} by epoch",
                440,
                lambda report, choice, stage=stage: figure.training(report, stage),
            )
            for stage in STAGES
        ),
    ),
    Section(
        "health",
        "Codes",
        "How many of the codes of each level are in use. Effective codes: how many of equal size would "
        "divide the items as finely.",
        "health",
        health_note,
        health_tables,
    ),
    Section(
        "ablations",
        "The paper’s ablations",
        "What each part of the method contributes: the hit rate when it is left out or changed.",
        "ablations",
        ablation_note,
        ablation_tables,
        (Plot("Hit rates of the variants, with intervals; hollow: the paper’s", 520, figure.ablations),),
        ablation_choices,
        optional=True,
    ),
    Section(
        "shared",
        "The same codes for the same thing",
        "How often an image, its caption and both together have the same code, and whether a code means the same in "
        "every dataset.",
        "shared_codes",
        shared_note,
        shared_tables,
        optional=True,
    ),
    Section(
        "captions",
        "Captions to images, beside the paper",
        "How often the picture of a caption is the first result, among the first five, and among the first ten.",
        "captions",
        captions_note,
        captions_tables,
        optional=True,
    ),
    Section(
        "throughput",
        "Queries per second",
        "How many texts are answered in a second among few and many candidates, as in the paper’s Figure 4.",
        "throughput",
        throughput_note,
        throughput_tables,
        (Plot("Queries per second by number of candidates", 420, figure.throughput),),
        optional=True,
    ),
    Section(
        "encoders",
        "The paper’s encoders",
        "Dense search with the encoders that the paper compares with: score fusion adds the embeddings of image and "
        "text, feature fusion makes one of both.",
        "encoders",
        encoder_note,
        ablation_tables,
        (Plot("Hit rates of the encoders, with intervals; hollow: the paper’s", 620, figure.ablations),),
        ablation_choices,
        optional=True,
    ),
    Section(
        "uploads",
        "Uploads",
        "How well the page answers about photographs from outside the collection, such as your own.",
        "uploads",
        uploads_note,
        uploads_tables,
        optional=True,
    ),
    Section(
        "hostile",
        "Hostile testing",
        "How the program withstood damaged files, attacks, heavy load and being killed.",
        "hostile",
        hostile_note,
        hostile_tables,
        (Plot("Measured curves, such as the memory of the server under load", 320, figure.measured_curves),),
        optional=True,
    ),
)
