"""The report of hostile testing as tables of strings."""

from __future__ import annotations

from genius.explore.report_tables.report_data import Report, Table

HOSTILE_SUITE = "tests/hostile/"  # where its files of tests lie


def hostile_note(report: Report) -> str:
    """How much was tried, how much of it failed, on which machine, and what was not tried."""
    parts = report["parts"].values()
    left = ", ".join(name.removeprefix(HOSTILE_SUITE) for name in report["not_run"])
    tried = sum(sum(part["outcomes"].values()) for part in parts)
    failed = sum(len(part["failures"]) for part in parts)
    return (
        f"{tried:,} attempts to break the program in {sum(part['tests'] for part in parts):,} tests, "
        f"{f'{failed:,} of which failed' if failed else 'none of which failed'}. {report['machine']}. "
        f"{f'Not run: {left}. ' if left else ''}Command: {report['command']}"
    )


def hostile_tables(report: Report, choice: str | None = None) -> list[Table]:
    """What the attempts of each class came to, the measured figures, and with which code each file was run."""
    parts = report["parts"]
    outcomes = dict.fromkeys(outcome for part in parts.values() for outcome in part["outcomes"])
    figures = [
        [name, measure, f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"]
        for name, part in parts.items()
        for measure, value in part["measured"].items()
        if isinstance(value, int | float)
    ]
    return [
        Table(
            "Attempts by class and outcome",
            ("Class", "Tests", "Failed", "Skipped", "Seconds", *outcomes),
            [
                [
                    name,
                    f"{part['tests']:,}",
                    f"{len(part['failures']):,}",
                    f"{len(part['skipped']):,}",
                    f"{part['seconds']:,.0f}",
                    *(f"{part['outcomes'].get(outcome, 0):,}" for outcome in outcomes),
                ]
                for name, part in parts.items()
            ],
        ),
        *([Table("Measured", ("Class", "Measure", "Value"), figures, words=2)] if figures else []),
        Table(
            "Files of tests",
            ("File", "Code", "Tests", "Failed", "Attempts", "Seconds", "Seconds of a processor"),
            [
                [
                    name.removeprefix(HOSTILE_SUITE),
                    file["code"],
                    f"{file['tests']:,}",
                    f"{len(file['failures']):,}",
                    f"{sum(file['outcomes'].values()):,}",
                    f"{file['seconds']:,.0f}",
                    f"{file['processor_seconds']:,.0f}",
                ]
                for name, file in report["files"].items()
            ],
            words=2,
        ),
    ]
