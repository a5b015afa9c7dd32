"""Name the codes of a trained run: distinctive words, and the pictures nearest to the mean.

    python -m training.names RUN [--device cpu]

The names become a small part of the run, which the page shows with each code. They describe the
items that the index holds now; a run that has grown since may be named again. They fit one encoder,
fusion and quantizer: a run that is trained again needs new ones.
"""

import time
from functools import partial
from pathlib import Path

from genius.commands import command_parser
from genius.evaluation.arguments import add_device
from genius.explore.code_names import PART, code_names, save_names
from genius.explore.code_profile import Profiles
from genius.run import expect_run
from genius.runtime import usable_device
from genius.search.engine import Engine
from training.distributed import run_alone


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("training.names", __doc__)
    parser.add_argument("run", type=Path, help="a trained run")
    add_device(parser)
    options = parser.parse_args(arguments)
    name_codes(options.run, str(usable_device(options.device)))


def name_codes(path: Path, device: str) -> None:
    """Name the codes and publish the names as a part of the run.

    Raises UserError for a run that cannot be read or written.
    """
    expect_run(path)
    started = time.perf_counter()
    engine = Engine.load(path, device)
    # as it was read with the parts, so that the names fit what they are published for
    run = engine.run
    assert run
    names = code_names(
        Profiles(engine, engine.index), engine.quantizer.config.modality_code == "forced"
    )
    folder = run.publish(PART, partial(save_names, names), ("encoder", "fusion", "quantizer"))
    worded = sum(bool(name.words) for name in names.values())
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e3
    print(
        f"names: {len(names):,} prefixes, {worded:,} of them with words, {size:.0f} kB, "
        f"{time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    run_alone(main)
