"""Train a run from a collection: encoder, features, quantizer, decoder, index; and a reader, if the
run needs one.

    python -m training COLLECTION RUN [--preset small|toy|photos|shipped|paper|paper-text]

A run whose encoder reads instructions apart from texts needs a reader: its embeddings do not say
what is asked for. A killed command resumes after its last epoch when you run it again. Each stage
is also a command of its own, e.g. python -m training.decoder COLLECTION RUN. To use several GPUs or
hosts, start it by: accelerate launch -m training COLLECTION RUN.
"""

from collections.abc import Sequence

from genius.collections.mbeir import Collection
from genius.errors import exit_on_user_error
from genius.run import Run
from training.command_line import Arguments, parse_arguments, print_done
from training.distributed import barrier, broadcast_object, is_main
from training.presets import reads_apart
from training.stage import STAGES, only_trainer, pending_stages, run_stage
from training.stages import index, reader


def main(words: Sequence[str] | None = None) -> None:
    train(parse_arguments("training", __doc__, words))


def train(arguments: Arguments) -> None:
    """Run the stages that are not done.

    Raises UserError if one was done with other settings, or another process is changing the run.
    """
    if pool := arguments.settings.index.pool:
        index.check_pool(Collection(arguments.collection), pool)  # refuses it now, not at the end
    with only_trainer(arguments.run):
        for name in broadcast_object(pending_stages(arguments)):
            run_stage(name, STAGES[name].train, arguments)
    run = Run(arguments.run)
    if is_main() and reads_apart(run) and not run.is_current(reader.PART):
        reader.train(arguments.collection, arguments.run, arguments.device, arguments.settings.seed)
    barrier()
    for name, stage in Run(arguments.run).manifest["stages"].items():
        print(f"{name:10s} {stage['seconds']:8.0f} s")
    print_done(arguments.run)


if __name__ == "__main__":
    with exit_on_user_error():
        main()
