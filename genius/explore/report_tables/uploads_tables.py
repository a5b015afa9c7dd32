"""The report of answers to uploads as tables of strings."""

from __future__ import annotations

from genius.evaluation.tables import between, percent
from genius.explore.report_tables.report_data import Report, Table


def uploads_note(report: Report) -> str:
    """What was uploaded, and which results are right."""
    first = report["answers"][0]
    return (
        f"{first['uploads']:,} photographs from outside the collection were asked about; a result is right if one of "
        "its names is in a caption of the photograph. Pictures similar to held-out ones are right if they are of the "
        f"same category. Brackets are 95 % confidence intervals. Command: {report['command']}"
    )


def uploads_tables(report: Report, choice: str | None = None) -> list[Table]:
    """Right answers, pictures of the right category, and pictures far from everything."""
    cuts = list(report["answers"][0]["hit"])
    return [
        Table(
            "What is this? Uploads with a right answer among the first results, in percent",
            ("Instruction", "Results", *(f"first {cut}" for cut in cuts)),
            [
                [row["instruction"], row["way"], *(between(row["hit"][cut], *row["interval"][cut]) for cut in cuts)]
                for row in report["answers"]
            ],
            words=2,
        ),
        Table(
            "Find similar pictures: uploads with a picture of the category among the first results, in percent",
            ("Set", "Uploaded", "Category", "Uploads", *(f"first {cut}" for cut in cuts)),
            [
                [
                    row["set"],
                    row["uploaded"],
                    row["categories"],
                    f"{row['uploads']:,}",
                    *(percent(row["hit"][cut]) for cut in cuts),
                ]
                for row in report["similar"]
            ],
            words=3,
        ),
        Table(
            "Pictures that are said to be far from everything in the index, in percent",
            ("Pictures", "Number", "Far"),
            [[row["pictures"], f"{row['count']:,}", percent(row["far"])] for row in report["far"]],
        ),
    ]
