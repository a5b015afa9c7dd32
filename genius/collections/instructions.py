"""The instructions of a collection: how a person might ask each dataset for each kind of candidate."""

from __future__ import annotations

from pathlib import Path

from genius.collections.lines import LineError, text_lines
from genius.collections.records import parse_modality
from genius.schema import Modality

Instructions = dict[tuple[int, Modality, Modality], list[str]]  # dataset id, of the query, of the candidate
COLUMNS = ("query_modality", "cand_modality", "dataset_name", "dataset_id", "prompts")


def read_instructions(file: Path) -> Instructions:
    """Read the tab-separated table; columns go by position, empty prompts are dropped.

    Raises LineError, which names file and line.
    """
    phrasings: Instructions = {}
    for number, text in text_lines(file):
        fields = [field.strip() for field in text.split("\t")]
        if number == 1 and fields[:2] == list(COLUMNS[:2]):
            continue
        prompts = [prompt for prompt in fields[4:] if prompt]
        if not prompts:
            raise LineError(file, number, f"expected {', '.join(COLUMNS)} separated by tabs")
        if not (fields[3].isascii() and fields[3].isdigit() and len(fields[3]) < 7):
            raise LineError(file, number, f"dataset_id must be a number, found {fields[3]!r}")
        try:
            key = (int(fields[3]), parse_modality(fields[0]), parse_modality(fields[1]))
        except ValueError as error:
            raise LineError(file, number, str(error)) from None
        phrasings.setdefault(key, []).extend(prompts)
    return phrasings
