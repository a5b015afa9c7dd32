"""Encode a source in partitions on the actors of a cluster, with Ray Data, and add them in one
change.
"""

from pathlib import Path
from typing import Any

import ray

from genius.cluster.serving import join_cluster
from genius.errors import UserError
from genius.index import partitions
from genius.index.item_source import read_item_source
from genius.index.update import Models
from genius.run import expect_run

ATTEMPTS = 3  # of a partition whose worker ends


class PartitionEncoder:
    """Encodes partitions; one an actor, which loads the models once."""

    def __init__(self, run: str, source: str, of: int):
        self.run = Path(run)
        self.source = source
        self.of = of
        self.models = Models.load(self.run)

    def __call__(self, part: dict[str, Any]) -> dict[str, Any]:
        """{"id": number} -> what became of this part: an error, or files that cannot be read."""
        try:
            added = partitions.encode_partition(
                self.run,
                lambda dataset: read_item_source(self.source, dataset),
                self.models,
                partitions.Share(part["id"] + 1, self.of),
            )
        except UserError as error:
            return part | {"error": str(error), "unreadable": ""}
        return part | {"error": "", "unreadable": "\n".join(added.complaints)}


def index_source(run: Path, source: str, of: int, actors: int | None, address: str | None) -> int:
    """Encode what is not encoded yet, and add it all. Returns the exit status: 1 if a file was
    unreadable.

    Killed anywhere, the same command goes on. Raises UserError if a part cannot be encoded.
    """
    expect_run(run)
    join_cluster(address)
    gpus = int(ray.cluster_resources().get("GPU", 0))
    size = min(actors or gpus or 2, of)
    parts = ray.data.from_items([{"id": number} for number in range(of)], override_num_blocks=of)
    done = parts.map(
        PartitionEncoder,
        fn_constructor_args=(str(run.resolve()), source, of),
        compute=ray.data.ActorPoolStrategy(size=size),
        num_gpus=1 if gpus else 0,
        num_cpus=None if gpus else 1,
        max_task_retries=ATTEMPTS,
        max_restarts=ATTEMPTS,
    )
    rows = done.take_all()
    failed = [f"part {row['id'] + 1}: {row['error']}" for row in rows if row["error"]]
    if failed:
        raise UserError(f"{len(failed)} of {of} parts are not encoded; the first, {failed[0]}")
    added = partitions.commit(run, lambda dataset: read_item_source(source, dataset), of)
    print(added)
    for complaint in (line for row in rows for line in row["unreadable"].splitlines()):
        print(f"unreadable: {complaint}")
    return 1 if added.unreadable else 0
