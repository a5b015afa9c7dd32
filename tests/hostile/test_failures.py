"""Commands that are killed, whose disk is full, or that run at once: nothing is lost, and repeated
they end well.

A command is stopped at its calls to the file layer and repeated in a copy of its folder, where it
ends as an undisturbed one: what lies on disk then is what a kill would leave. One that removes
items is also killed for real, at every publication. A file of a run that is damaged is refused in a
sentence, or does not matter. What commands at once leave is what they leave one after the other,
and a loser gets a sentence.
"""

import os
import shutil
from itertools import combinations_with_replacement, permutations
from pathlib import Path

import pytest

from genius.errors import UserError
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.hostile.commands import COMMANDS, SECONDS, contents, differences, present
from tests.hostile.file_layer import FULL, KILL, SLOW, STOP, Plan
from tests.search.tiny import publish_tiny_run

QUERY = Query(text="a red boat", instruction="Find the picture.")
OPTIONS = SearchOptions(beams=4, k=5)
CHANGES = ("add", "remove", "compact")
STAGES = ("encoder", "features", "quantizer", "decoder", "index")
ALL: frozenset[str] = frozenset()
STOPPED = {  # command: the kinds of calls at which it is stopped
    **dict.fromkeys((*CHANGES, *STAGES, "collections"), ALL),
    "training": frozenset({"rename", "replace", "link"}),  # whose stages are stopped at every call
}


def repeated_as_undisturbed(name, ended, different):
    """A command that is repeated; refused if it was done, and is not done twice."""
    assert (ended.status == 0 or ended.refused) and not different, (name, ended, different)


@pytest.mark.parametrize("name", STOPPED)
def test_a_command_that_is_stopped_at_a_call_can_be_repeated(name, lab):
    expected = lab.undisturbed(name)
    lab.start(COMMANDS[name].state)
    child = lab.begin(name, Plan(STOP, kinds=STOPPED[name]))
    points = 0
    try:
        while child.stopped():
            points += 1
            repeated_as_undisturbed(name, *lab.repeat_elsewhere(name))
            child.resume()
    finally:
        ended = child.end(0 if child.process.is_alive() else SECONDS)
    assert points and ended.status == 0 and not differences(expected, contents(lab.work)), (
        ended.output
    )


@pytest.mark.sample
def test_a_removal_that_is_killed_where_it_publishes_can_be_repeated(lab):
    name = "remove at once"
    lab.undisturbed(name)
    points = [at for at, (kind, _) in enumerate(lab.calls(name)) if kind in {"rename", "replace"}]
    assert points
    for at in points:
        lab.start(COMMANDS[name].state)
        ended = lab.attempt(name, Plan(KILL, at))
        assert ended.status in (-9, 0), (at, ended)  # threads may make fewer calls
        repeated_as_undisturbed(name, *lab.repeat(name))


def fill_and_repeat(lab, name, at):
    """The disk is full from a call on, which does half of its work if it writes."""
    lab.undisturbed(name)
    before = present(lab.start(COMMANDS[name].state))
    ended = lab.attempt(name, Plan(FULL, at))
    # 0: what failed was not needed, such as deleting
    assert ended.status == 0 or ended.refused, ended.output
    if ended.refused and name in CHANGES:
        assert not differences(before, present(lab.work))
    repeated_as_undisturbed(name, *lab.repeat(name))


@pytest.mark.parametrize("name", [*CHANGES, *STAGES, "collections"])
def test_a_full_disk_gets_a_sentence_and_loses_nothing(name, lab):
    for at in range(len(lab.calls(name, FULL))):
        fill_and_repeat(lab, name, at)


@pytest.mark.sample
@pytest.mark.parametrize("at", [0, 4, 9])
def test_a_removal_on_a_full_disk_gets_a_sentence_and_loses_nothing(at, lab):
    fill_and_repeat(lab, "remove at once", at)


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def replaced_by(make):
    def damage(file: Path) -> None:
        file.unlink()
        make(file)

    return damage


DAMAGES = {
    "a bit": flipped,
    "half": lambda file: os.truncate(file, file.stat().st_size // 2),
    "empty": lambda file: os.truncate(file, 0),
    "missing": Path.unlink,
    "a folder": replaced_by(Path.mkdir),
    "a pipe": replaced_by(os.mkfifo),
    "a link to a device": replaced_by(lambda file: file.symlink_to("/dev/zero")),
}
SAMPLE = ("a bit", "missing", "a pipe")


@pytest.fixture(scope="module")
def sound_run(tmp_path_factory):
    return publish_tiny_run(tmp_path_factory.mktemp("sound") / "run", 12).path


@pytest.mark.parametrize(
    "damage",
    [pytest.param(damage, marks=[pytest.mark.sample] * (damage in SAMPLE)) for damage in DAMAGES],
)
def test_a_damaged_file_of_a_run_is_refused_in_a_sentence_or_does_not_matter(
    damage, sound_run, tmp_path
):
    expected = Engine.load(sound_run, "cpu").search([QUERY], OPTIONS)[0].hits
    files = [file.relative_to(sound_run) for file in sorted(sound_run.rglob("*")) if file.is_file()]
    for name in (name for name in files if name.name != ".lock" and name.parts[0] != "pictures"):
        damaged = tmp_path / "run"
        shutil.copytree(sound_run, damaged)
        DAMAGES[damage](damaged / name)
        try:
            assert Engine.load(damaged, "cpu").search([QUERY], OPTIONS)[0].hits == expected, name
        except UserError as error:
            assert "\n" not in str(error) and len(str(error)) < 1_000, name
        shutil.rmtree(damaged)


GROWN = "add"  # the state of a trained run to which items were added
COMMON = ("quantizer", "index", "add", "remove", "compact", "training")
RACES = [(*pair, GROWN) for pair in combinations_with_replacement(COMMON, 2)]
RACES += [("collections", "collections", "sources")]
RACES += [pytest.param("remove at once", "remove at once", "untrained", marks=pytest.mark.sample)]


@pytest.mark.parametrize("first, second, state", RACES)
def test_two_commands_at_once_leave_what_they_leave_in_turn(first, second, state, lab):
    names = (first, second)
    lab.start(state)
    children = [lab.begin(name, Plan(SLOW)) for name in names]
    ended = [child.end() for child in children]
    actual = present(lab.work)
    for name, child in zip(names, ended, strict=True):
        assert child.status == 0 or child.refused, (name, child.status, child.output)
    winners = [number for number in range(2) if ended[number].status == 0]
    assert winners, [child.output for child in ended]
    orders = [tuple(names[number] for number in order) for order in permutations(winners)]
    different = {order: differences(in_turn(lab, order, state), actual) for order in orders}
    assert not all(different.values()), (different, [child.output[-400:] for child in ended])


def in_turn(lab, names: tuple[str, ...], state: str) -> dict[str, str]:
    """What the commands leave one after the other."""
    key = " then ".join((state, *names))
    if key not in lab.results:
        lab.start(state)
        for name in names:
            lab.attempt(name)
        lab.results[key] = present(lab.work)
    return lab.results[key]
