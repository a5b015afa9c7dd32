"""Evaluate a run; prints the tables and writes RUN/reports/retrieval.json and .md.

python -m genius.evaluation RUN
python -m genius.evaluation RUN --beams 1,5,10,20,30,50
python -m genius.evaluation RUN --beams 30,50 --every-phrasing      # beside the paper's tables
"""

import argparse
import sys

from genius.errors import exit_on_user_error
from genius.evaluation.arguments import (
    command_line,
    evaluation_parser,
    opened,
    options_of,
    parse_integers,
)
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.paper import trained_on
from genius.evaluation.report import report_of
from genius.reports import program_version
from genius.run import Run
from genius.search.checks import MAX_BEAMS

MODULE = "genius.evaluation"


def build_parser() -> argparse.ArgumentParser:
    parser = evaluation_parser(MODULE, __doc__)
    sizes = "beam sizes: the largest for the tables, all for the sweep (default: %(default)s)"
    parser.add_argument("--beams", default="50", metavar="N,N,…", help=sizes)
    phrasings = (
        "also search with every phrasing of each query's instruction: mean, lowest and "
        "highest hit rate"
    )
    parser.add_argument("--every-phrasing", action="store_true", help=phrasings)
    answerable = (
        "leave out queries without a positive in the index, where it holds one pool of the "
        "collection"
    )
    parser.add_argument("--answerable", action="store_true", help=answerable)
    rows = (
        "only these benchmark rows: TASK:DATASET, such as 0:mscoco, or DATASET for all of its tasks"
    )
    parser.add_argument("--rows", default="", metavar="ROW,ROW,…", help=rows)
    items = "only the pools of all items, or only those of the split's: all or SPLIT"
    parser.add_argument("--items", default="", metavar="ITEMS", help=items)
    return parser


def main(arguments: list[str]) -> None:
    given = build_parser().parse_args(arguments)
    given.beams = parse_integers(given.beams, "--beams", 1, MAX_BEAMS)
    given.rows = tuple(filter(None, given.rows.split(",")))
    options = options_of(EvaluationOptions, given)
    engine, collection = opened(given)
    run, name = given.run.resolve().name, collection.root.resolve().name
    facts = (
        command_line(MODULE, arguments),
        program_version(given.run),
        trained_on(Run(given.run).settings, name),
    )
    report = report_of(evaluate(engine, collection, options), run, name, *facts)
    report.save(given.run / "reports" / "retrieval.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
