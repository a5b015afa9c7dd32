"""Train a run from a collection: encoder, features, quantizer, decoder, index.

    python -m training COLLECTION RUN [--preset small|demo|paper|paper-text]

Killed and started again, it goes on from the last epoch of the stage it was in. Each stage is also a command
of its own, e.g. python -m training.decoder COLLECTION RUN. Several GPUs, or hosts, share the work when it is started
by accelerate launch -m training COLLECTION RUN.
"""

from __future__ import annotations

from genius.collections.mbeir import Collection
from genius.errors import exit_on_user_error
from genius.run import Run
from training import decoder, encoder, features, index, quantizer
from training.distributed import agreed
from training.settings import Arguments, parse_arguments
from training.stage import STAGES, is_done, run_stage

TRAIN = dict(zip(STAGES, (encoder.train, features.train, quantizer.train, decoder.train, index.train), strict=True))


def train(arguments: Arguments) -> None:
    """Run the stages that are not done yet. Raises UserError if one was done with other settings."""
    if pool := arguments.settings.index.pool:
        next(index.pool_items(Collection(arguments.collection), pool))  # refuse an unknown one now, not at the end
    waiting = agreed([name for name in STAGES if not is_done(name, arguments)])
    for name in waiting:
        run_stage(name, TRAIN[name], arguments)
    for name, stage in Run(arguments.run).manifest["stages"].items():
        print(f"{name:10s} {stage['seconds']:8.0f} s")
    print(f"done: python app.py --run {arguments.run}")


if __name__ == "__main__":
    with exit_on_user_error():
        train(parse_arguments(__doc__))
