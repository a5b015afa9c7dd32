"""A small good collection, and what check, training, adding and evaluation do with a spoiled copy of it."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy
from PIL import Image

from genius.collections.checker import Checker, LineWarning
from genius.collections.mbeir import Collection
from genius.collections.writer import CollectionWriter
from genius.errors import UserError
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.index.item_source import read_item_source
from genius.index.update import Models, add
from genius.schema import Item, LabeledQuery, Modality
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run
from tests.training.tiny import TINY
from training.__main__ import train
from training.command_line import Arguments
from training.settings import ExtrasSettings

PATIENCE = 60  # seconds that a stage may take, on a busy machine
EXAMPLES = 40  # generated collections of a test
SPLIT_OF = ("train", "train", "val", "val", "test", "test")
COLORS = ("red", "green", "blue", "white", "black", "gray")
TINIEST = replace(
    TINY,
    encoder=replace(TINY.encoder, epochs=1, extras=ExtrasSettings(), augment=False),
    features=replace(TINY.features, phrasings=1),
    quantizer=replace(TINY.quantizer, epochs=1, kmeans_iterations=2, coarse_weight=0.0),
    decoder=replace(TINY.decoder, epochs=1),
)


def write_good_collection(root: Path) -> None:
    """Dataset 7: pictures (task 0), their texts (task 3), and both (task 2); two of each in every split."""
    with CollectionWriter(root) as writer:
        for number, (split, color) in enumerate(zip(SPLIT_OF, COLORS, strict=True)):
            path, text = f"images/{number}.png", f"a {color} square"
            stream = io.BytesIO()
            Image.fromarray(np.full((6, 8, 3), 40 * number, np.uint8)).save(stream, "PNG")
            writer.image(path, stream.getvalue())
            source = json.dumps({"color": color})
            items = (
                Item(f"7:{number}", Modality.IMAGE, "", path, source),
                Item(f"7:{10 + number}", Modality.TEXT, text, None, source),
                Item(f"7:{20 + number}", Modality.PAIR, text, path, source),
            )
            for item, task in zip(items, (0, 3, 2), strict=True):
                writer.candidate(item, "squares", [task], [split])
            for task, asked in ((0, {"text": text}), (3, {"image": path}), (2, {"text": f"both of {text}"})):
                modality = Modality.IMAGE if "image" in asked else Modality.TEXT
                positive = items[(0, 3, 2).index(task)].id
                query = LabeledQuery(f"7:{100 * task + number}", modality, task, **asked, positives=(positive,))
                writer.query(query, "squares", split)
        for candidate, query in ((0, 1), (1, 0), (2, 1)):
            for held_out in (False, True):
                prompts = ["Find it.", "Which one fits?"] if not held_out else ["Get it."]
                writer.instructions(7, "squares", Modality(query), Modality(candidate), prompts, held_out)
    (root / "synonyms.json").write_text('{"square": ["quadrangle"]}')


@cache
def good_files() -> dict[str, bytes]:
    """Relative path -> content of the good collection."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "collection"
        write_good_collection(root)
        return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


def write_files(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


class Hang(BaseException):
    """A stage took longer than PATIENCE; no `except Exception` hides it."""


@contextmanager
def patience(seconds: int = PATIENCE) -> Iterator[None]:
    def stop(*_) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Outcome:
    """What a stage did with a collection."""

    kind: str  # of the suite: answered, refused in a sentence, traceback, hang
    sentence: str = ""  # of a refusal or an error
    error: BaseException | None = None


def attempt(action: Callable[[], object]) -> Outcome:
    """Run a stage, whose prints are dropped."""
    try:
        with patience(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            action()
    except UserError as error:
        sentence = str(error)
        sentence.encode()  # can be printed
        if "\n" in sentence or len(sentence) > 1_500:
            return Outcome("not a sentence", sentence, error)
        return Outcome("refused in a sentence", sentence, error)
    except Hang as error:
        return Outcome("hang", "", error)
    except Exception as error:
        return Outcome("traceback", f"{type(error).__name__}: {error}", error)
    return Outcome("answered")


@dataclass
class Checked:
    """What the check found, after its outcome."""

    outcome: Outcome
    problems: list[str]
    warnings: list[str]
    lacking: set[str]  # the splits whose queries are too few for a stage


def checked(root: Path) -> Checked:
    findings = []

    def check() -> None:
        findings.extend(Checker(root, images=True).findings())
        for finding in findings:
            str(finding).encode()

    outcome = attempt(check)
    warnings = [finding for finding in findings if isinstance(finding, LineWarning)]
    problems = [finding for finding in findings if not isinstance(finding, LineWarning)]
    lacking = {warning.file.name for warning in warnings if "queries; training" in str(warning)}
    lacking |= {warning.file.name for warning in warnings if "no queries; evaluation" in str(warning)}
    return Checked(outcome, list(map(str, problems)), list(map(str, warnings)), lacking)


class Stages:
    """Runs the stages on one collection after the other, each into runs of its own."""

    def __init__(self, scratch: Path):
        self.scratch, self.number = scratch, 0
        self.base = publish_tiny_run(scratch / "base", 12).path
        self.models = Models.load(self.base, "cpu")

    def judge(self, root: Path) -> tuple[Checked, list[Outcome], str]:
        """What the check found, the outcomes of all stages, and what is wrong with them; "" for nothing.

        The rule: a stage that the check neither refuses nor warns of accepts the collection.
        """
        check = checked(root)
        accepted = check.outcome.kind == "answered" and not check.problems
        self.number += 1
        run, base = self.scratch / f"run-{self.number}", self.scratch / f"base-{self.number}"
        shutil.copytree(self.base, base, copy_function=os.link)
        adding = attempt(partial(self._add, base, root))
        training = attempt(partial(self._train, root, run))
        evaluation = attempt(partial(self._evaluate, root, run if training.kind == "answered" else self.base))
        shutil.rmtree(run, ignore_errors=True)
        shutil.rmtree(base)
        outcomes = {"check": check.outcome, "add": adding, "train": training, "evaluate": evaluation}
        flaws = [
            f"{stage}: {outcome.kind}: {outcome.sentence}"
            for stage, outcome in outcomes.items()
            if outcome.kind not in ("answered", "refused in a sentence")
        ]
        needs = {"add": set(), "train": {"train", "val"}, "evaluate": {"train", "val", "test"}}
        flaws += [
            f"the check passed, but {stage} refused: {outcomes[stage].sentence}"
            for stage, splits in needs.items()
            if accepted and not check.lacking & splits and outcomes[stage].kind != "answered"
        ]
        return check, list(outcomes.values()), "; ".join(flaws)

    def judge_files(self, files: dict[str, bytes]) -> tuple[Checked, list[Outcome], str]:
        """As `judge`, of a collection of these files."""
        root = write_files(self.scratch / f"collection-{self.number}", files)
        judged = self.judge(root)
        shutil.rmtree(root)
        return judged

    def _add(self, run: Path, root: Path) -> None:
        added = add(run, partial(read_item_source, str(root)), self.models)
        if added.unreadable:
            raise UserError(added.complaints[0])

    def _train(self, root: Path, run: Path) -> None:
        train(Arguments(root, run, "small", TINIEST, "cpu"))

    def _evaluate(self, root: Path, run: Path) -> None:
        evaluate(Engine.load(run, "cpu"), Collection(root), EvaluationOptions(beams=(3,)))


def judge_generated(
    strategy: SearchStrategy[dict[str, bytes]], folder: Path, counts: Callable[[str, str], None]
) -> None:
    """Generated collections: whatever passes the check is accepted by every later stage."""
    stages = Stages(folder)

    @settings(settings.get_profile("hostile"), max_examples=EXAMPLES)
    @given(strategy)
    def judge(files: dict[str, bytes]) -> None:
        _, outcomes, flaw = stages.judge_files(files)
        for outcome in outcomes:
            counts("inputs", outcome.kind)
        assert not flaw, flaw

    judge()
