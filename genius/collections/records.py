"""Parse one line of an M-BEIR file: a candidate, a query or a relevance judgment; and the table of
instructions.

The reader and the checker share these parsers, so both refuse the same lines. Errors are
LineErrors, which name the file and the line.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypeVar

from pydantic import AfterValidator, BeforeValidator, Strict, TypeAdapter
from typing_extensions import TypedDict

from genius.collections.keys import id_key
from genius.collections.layout import TASKS, leaves_folder
from genius.collections.lines import LineError, parse_object, text_lines, validate
from genius.schema import Item, LabeledQuery, Modality
from genius.texts import MAX_TEXT

T = TypeVar("T")
# (dataset id, query modality, candidate modality) -> instructions
Instructions = dict[tuple[int, Modality, Modality], list[str]]
COLUMNS = ("query_modality", "cand_modality", "dataset_name", "dataset_id", "prompts")


@dataclass(frozen=True, slots=True)
class Judgment:
    """One line of a qrels file."""

    query: int  # key of the query's id
    candidate: int  # key of the candidate's id
    relevant: bool


def read_lines(file: Path, parse: Callable[[Path, int, str], T]) -> Iterator[T]:
    """The records of a file; the positives of queries are those in their lines, not those in the
    qrels.
    """
    for number, text in text_lines(file):
        yield parse(file, number, text)


def parse_item(file: Path, line: int, text: str) -> Item:
    return validate(CANDIDATE, file, line, parse_object(file, line, text))


def parse_query(file: Path, line: int, text: str) -> LabeledQuery:
    return validate(QUERY, file, line, parse_object(file, line, text))


def parse_judgment(file: Path, line: int, text: str) -> Judgment:
    """Raises LineError."""
    fields = text.split()
    if len(fields) < 4:
        raise LineError(file, line, "expected: query id, 0, candidate id, relevance, task id")
    if not fields[3].lstrip("-").isdigit():
        raise LineError(file, line, f"relevance must be an integer, found {fields[3]!r}")
    try:
        return Judgment(id_key(fields[0]), id_key(fields[2]), int(fields[3]) > 0)
    except ValueError as error:
        raise LineError(file, line, str(error)) from None


def parse_modality(name: str) -> Modality:
    """Read M-BEIR's name; its card also writes "text,image". Raises ValueError that lists the
    choices.
    """
    return Modality.from_mbeir("image,text" if name == "text,image" else name)


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
            raise LineError(
                file, number, f"expected the columns {', '.join(COLUMNS)}, separated by tabs"
            )
        if (longest := max(map(len, prompts))) > MAX_TEXT:
            raise LineError(
                file, number, f"a prompt has {longest:,} characters; shorten it to {MAX_TEXT:,}"
            )
        if not (fields[3].isascii() and fields[3].isdigit() and len(fields[3]) < 7):
            raise LineError(file, number, f"dataset_id must be an integer, found {fields[3]!r}")
        try:
            key = (int(fields[3]), parse_modality(fields[0]), parse_modality(fields[1]))
        except ValueError as error:
            raise LineError(file, number, str(error)) from None
        instructions.setdefault(key, []).extend(prompts)
    return instructions


def _checked_id(name: str) -> str:
    id_key(name)
    return name


def _checked_task(task: int) -> int:
    if task not in TASKS:
        raise ValueError(f"expected one of {', '.join(map(str, TASKS))}, found {task}")
    return task


def _checked_path(path: str) -> str:
    if leaves_folder(path):
        raise ValueError(f"{path!r:.100} leaves the collection; give a path relative to its root")
    return path


def _plain_id(entry: Any) -> Any:
    """M-BEIR's files list plain ids, its dataset card shows objects with a did."""
    return entry["did"] if isinstance(entry, dict) and "did" in entry else entry


Text = Annotated[str, Strict()]
Id = Annotated[Text, AfterValidator(_checked_id)]
Ids = Annotated[
    list[Annotated[Id, BeforeValidator(_plain_id)]], BeforeValidator(lambda ids: ids or [])
]
ImagePath = Annotated[Text, AfterValidator(_checked_path)]
ModalityName = Annotated[Text, AfterValidator(parse_modality)]
TaskNumber = Annotated[int, Strict(), AfterValidator(_checked_task)]


class CandidateLine(TypedDict):
    did: Id
    modality: ModalityName
    txt: NotRequired[Text | None]
    img_path: NotRequired[ImagePath | None]
    src_content: NotRequired[Text | None]


class QueryLine(TypedDict):
    qid: Id
    query_modality: ModalityName
    task_id: TaskNumber
    query_txt: NotRequired[Text | None]
    query_img_path: NotRequired[ImagePath | None]
    query_src_content: NotRequired[Text | None]
    pos_cand_list: NotRequired[Ids]
    neg_cand_list: NotRequired[Ids]


def _item(line: CandidateLine) -> Item:
    text = line.get("txt") or ""
    image = line.get("img_path") or None
    modality = _checked_modality(line["modality"], text, image)
    return Item(line["did"], modality, text, image, line.get("src_content") or "")


def _query(line: QueryLine) -> LabeledQuery:
    text = line.get("query_txt") or ""
    image = line.get("query_img_path") or None
    modality = _checked_modality(line["query_modality"], text, image)
    positives = tuple(line.get("pos_cand_list", ()))
    negatives = tuple(line.get("neg_cand_list", ()))
    source = line.get("query_src_content") or ""
    return LabeledQuery(
        line["qid"], modality, line["task_id"], text, image, positives, negatives, source
    )


def _checked_modality(stated: Any, text: str, image: str | None) -> Modality:
    """The Modality that the validator of its name made."""
    if stated != (actual := Modality.of(text, image)):
        raise ValueError(
            f"the modality is given as {stated.mbeir!r}, but the line contains {actual.mbeir!r}"
        )
    return stated


CANDIDATE = TypeAdapter(Annotated[CandidateLine, AfterValidator(_item)])
QUERY = TypeAdapter(Annotated[QueryLine, AfterValidator(_query)])
