"""IDs of anybody's making: read a table of items and their codes, and say how healthy the codes
are.

    from genius.metrics.codebook import health
    print(health("ids.csv", labels="category"))

A table is a CSV, TSV, JSONL or Parquet file or a data frame with a column of names (`id`, `item`,
…, else the first) and one column `codes` (a list, or a text such as `12 7 255`, `12-7-255` or
`<a_12><b_7><c_255>`) or a column for each level (`c0`, `code_1`, …); a JSON object of names and
codes, or a list of codes; or an array (n, M), also in a .npy file, whose rows are the items. A
token that names its level, as `<s0_12><s1_7>` do, must stand at that place.

Shapes: n items, M levels.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from genius.errors import UserError
from genius.metrics.code_health import format_health, table_health
from genius.metrics.factor_agreement import adjusted_mutual_information
from genius.trie.ids import IDTable, check_code_sizes

# columns with the whole ID
CODES = ("codes", "code", "semanticid", "semanticids", "semids", "sid", "sids")
NAMES = ("id", "item", "itemid", "did", "iid", "asin", "name")  # of items, the best first
# what precedes a code, such as the name of its level, and the code
TOKEN = re.compile(r"(?:([a-z]+[_-]?\d*|\d+)[_-])?(\d+)", re.IGNORECASE | re.ASCII)
# a column of one level
LEVEL = re.compile(r"(?:c|code|codes|level|sid|semantic_?id|sem_?id)?_?(\d+)", re.IGNORECASE)

Table: TypeAlias = str | Path | pd.DataFrame | np.ndarray


@dataclass(frozen=True)
class IDs:
    """The codes of n items."""

    codes: np.ndarray  # (n, M) int64
    names: np.ndarray | None  # (n,) str; None: items have only numbers
    frame: pd.DataFrame | None  # all columns of the table

    @property
    def code_sizes(self) -> tuple[int, ...]:
        """Codes at each level, as far as the table shows: one more than the largest."""
        return tuple((self.codes.max(0) + 1).tolist())


class Health(dict[str, Any]):
    """The figures of `table_health` and, of labels, `agreement`: for each level the adjusted mutual
    information with them, 0 by chance and 1 at best. Printed, a few lines.
    """

    def __str__(self) -> str:
        lines = [format_health(self)]
        if "agreement" in self:
            lines.append(
                "agreement with the labels: "
                + "  ".join(f"{value:.2f}" for value in self["agreement"])
            )
        return "\n".join(lines)


def health(table: Table, labels: str | Any = None, sizes: tuple[int, ...] | None = None) -> Health:
    """How many codes of each level are used and how evenly, how many items share an ID, and do
    codes go with labels?

    labels: a column of the table, or one label for each item. sizes: codes at each level; None: as
    many as the table shows, so that codes above the largest are not known to be dead. Raises
    UserError for a table that does not fit.
    """
    ids = read_ids(table)
    modalities = np.zeros(len(ids.codes), dtype=np.uint8)
    found = Health(table_health(IDTable.build(ids.codes, sizes or ids.code_sizes), modalities))
    del found["modality_purity"]  # these may be codes of anything
    if isinstance(labels, str):
        if ids.frame is None or labels not in ids.frame:
            columns = [] if ids.frame is None else ids.frame.columns
            raise UserError(
                f"there is no column {labels!r}; the table has "
                f"{', '.join(map(str, columns)) or 'none'}"
            )
        labels = ids.frame[labels]
    if labels is not None:
        values = pd.factorize(np.asarray(labels), use_na_sentinel=False)[0]
        found["agreement"] = [
            adjusted_mutual_information([values], level)[0] for level in ids.codes.T
        ]
    return found


def read_ids(table: Table) -> IDs:
    """The codes (n, M) in a table. Raises UserError that says what does not fit."""
    where = table if isinstance(table, str | Path) else "the table"
    try:
        if not isinstance(table, pd.DataFrame | np.ndarray):
            kind = Path(table).suffix.lower()
            if kind not in READERS:
                raise ValueError(f"expected a file of {', '.join(READERS)}")
            table = READERS[kind](Path(table))
        if isinstance(table, np.ndarray):
            return IDs(_checked(table), None, None)
        codes, used = _codes(table)
    except (OSError, ValueError, TypeError, ImportError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{where} is no table of items and their codes ({reason})") from None
    plain = {_plain(name): name for name in table.columns}
    others = [name for name in table.columns if name not in used]
    name = next(
        (plain[name] for name in NAMES if name in plain and plain[name] in others),
        next(iter(others), None),
    )
    return IDs(
        codes, None if name is None else table[name].astype(str).to_numpy(dtype=object), table
    )


def _read_json(file: Path) -> pd.DataFrame:
    held = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(held, dict):
        return pd.DataFrame({"id": list(held), "codes": list(held.values())})
    if not isinstance(held, list):
        raise ValueError("expected an object of names and codes, or a list")
    records = held and all(isinstance(row, dict) for row in held)
    return pd.DataFrame(held if records else {"codes": held})


READERS: dict[str, Callable[[Path], pd.DataFrame | np.ndarray]] = {
    ".csv": partial(pd.read_csv, dtype_backend="numpy_nullable"),
    ".tsv": partial(pd.read_csv, dtype_backend="numpy_nullable", sep="\t"),
    ".jsonl": partial(pd.read_json, lines=True, dtype=False),
    ".json": _read_json,
    ".parquet": pd.read_parquet,
    ".npy": partial(np.load, allow_pickle=False),
}


def _codes(table: pd.DataFrame) -> tuple[np.ndarray, list[Any]]:
    """Codes (n, M) and the columns that have them. Raises ValueError."""
    plain = {_plain(name): name for name in table.columns}
    if whole := next((plain[name] for name in CODES if name in plain), None):
        return _read_rows(table[whole].tolist()), [whole]
    levels = {
        name: int(match[1]) for name in table.columns if (match := LEVEL.fullmatch(str(name)))
    }
    if not levels:
        raise ValueError(
            f"no column is codes, c0, code_1 or the like: {', '.join(map(str, table.columns))}"
        )
    names = sorted(levels, key=lambda name: levels[name])
    codes = table[names].to_numpy()
    return _read_rows(codes.tolist()) if codes.dtype == object else _checked(codes), names


def _checked(codes: np.ndarray) -> np.ndarray:
    numbers = codes.ndim == 2 and codes.size and codes.dtype.kind in "iuf"
    if not numbers or not np.isfinite(codes).all() or (codes % 1).any() or codes.min() < 0:
        raise ValueError("expected whole numbers from 0 on, equally many for each item")
    check_code_sizes([int(code) + 1 for code in codes.max(0)])
    return codes.astype(np.int64)


def _read_rows(rows: list[Any]) -> np.ndarray:
    """(n, M) the codes of rows that are texts or lists. Raises ValueError."""
    codes = []
    first = None
    for number, row in enumerate(rows):
        row = row.tolist() if isinstance(row, np.ndarray) else row
        tokens = _split(row) if isinstance(row, str) else row if isinstance(row, list) else [row]
        if not tokens or (len(tokens) == 1 and np.ndim(tokens[0]) == 0 and pd.isna(tokens[0])):
            raise ValueError(f"row {number} has no codes; expected some for each item")
        before, numbers = zip(*(_code(token, number) for token in tokens), strict=True)
        first = before if first is None else first
        if len(tokens) != len(first):
            raise ValueError(f"row {number} has {len(tokens)} codes, the first {len(first)}")
        if before != first:
            raise ValueError(
                f"row {number} names its codes {', '.join(before)}, the first {', '.join(first)}"
            )
        codes.append(numbers)
    if first is None:
        raise ValueError("it has no rows")
    levels = [re.split(r"\D", name)[-1] for name in first]
    if any(levels) and levels not in (
        [*map(str, range(start, start + len(levels)))] for start in (0, 1)
    ):
        raise ValueError(
            f"row 0 names its levels {', '.join(first)}; expected 0, 1, … or 1, 2, … in this order"
        )
    check_code_sizes([max(level) + 1 for level in zip(*codes, strict=True)])
    return np.array(codes, dtype=np.int64)


def _split(text: str) -> list[str]:
    """The tokens of a text, without brackets and quotes."""
    text = re.sub(r">\s*<", "> <", text.strip().strip("[]()").strip().rstrip(",;"))
    if re.fullmatch(r"\d+(-\d+)+", text):
        return text.split("-")
    tokens = re.split(r"\s*[,;]\s*" if "," in text or ";" in text else r"\s+", text)
    return [token.strip("<|>'\"") for token in tokens if text]


def _code(token: Any, row: int) -> tuple[str, int]:
    """What precedes the code in a token, such as `s0` in `s0_12`, and the code.

    Raises ValueError for what is no code.
    """
    if isinstance(token, str) and (match := TOKEN.fullmatch(token.strip("<|>"))):
        return (match[1] or "").lower(), int(match[2])
    whole = isinstance(token, int) or (isinstance(token, float) and token.is_integer())
    if whole and not isinstance(token, bool) and token >= 0:
        return "", int(token)
    shown = "an empty cell" if np.ndim(token) == 0 and pd.isna(token) else repr(token)[:60]
    raise ValueError(
        f"row {row} has {shown}, which is no code; expected whole numbers from 0 on, such "
        "as 12 7 255 or <a_12><b_7>"
    )


def _plain(name: Any) -> str:
    return re.sub(r"[\s_-]+", "", str(name).lower())
