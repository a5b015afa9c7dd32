"""Read the table of instructions: how each dataset is asked for each candidate modality."""

from pathlib import Path

from genius.collections.lines import LineError, text_lines
from genius.collections.records import parse_modality
from genius.schema import Modality
from genius.texts import MAX_TEXT

# (dataset id, query modality, candidate modality) -> instructions
Instructions = dict[tuple[int, Modality, Modality], list[str]]
COLUMNS = ("query_modality", "cand_modality", "dataset_name", "dataset_id", "prompts")


def read_instructions(file: Path) -> Instructions:
    """Read the tab-separated table. Columns are found by position; empty prompts are skipped.

    Raises LineError.
    """
    instructions: Instructions = {}
    for number, text in text_lines(file):
        fields = [field.strip() for field in text.split("\t")]
        if number == 1 and fields[:2] == list(COLUMNS[:2]):
            continue
        prompts = [prompt for prompt in fields[4:] if prompt]
        if not prompts:
            raise LineError(file, number, f"expected the columns {', '.join(COLUMNS)}, separated by tabs")
        if (longest := max(map(len, prompts))) > MAX_TEXT:
            raise LineError(file, number, f"a prompt has {longest:,} characters; shorten it to {MAX_TEXT:,}")
        if not (fields[3].isascii() and fields[3].isdigit() and len(fields[3]) < 7):
            raise LineError(file, number, f"dataset_id must be an integer, found {fields[3]!r}")
        try:
            key = (int(fields[3]), parse_modality(fields[0]), parse_modality(fields[1]))
        except ValueError as error:
            raise LineError(file, number, str(error)) from None
        instructions.setdefault(key, []).extend(prompts)
    return instructions
