"""Shards of a run as deployments of Ray Serve, and how a router asks them.

Ray places the shards, starts them again when they end, and sends each question to the replica that
has least to do.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection
from time import monotonic, sleep
from typing import Any

import ray
from ray import serve
from ray.exceptions import RayError
from ray.serve.config import ProxyLocation
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle, DeploymentResponse

from genius.cluster.router import RouterEngine
from genius.cluster.shard import Answer, OtherSnapshotError, ScanQuestion, Shard
from genius.errors import UserError
from genius.index.partitions import Share
from genius.reading import one_line
from genius.run import Run, expect_run

# on which answers depend; the index may change
MODELS = ("encoder", "fusion", "quantizer", "decoder")
SOON = 0.05  # seconds between two attempts
REACHED = 5.0  # seconds in which an address answers
NO_CLUSTER = (
    "no Ray cluster could be joined at {} ({}); start one with ray start --head, and use the same "
    "versions of Python and Ray on every host"
)
TAKE_IN = 120.0  # seconds in which all shards take in a newer index
ASKED_TOGETHER = 16  # questions that a replica answers at once, on threads of its own


@dataclass(frozen=True)
class Served:
    """What a shard says of itself."""

    models: tuple[str, ...]  # digests of MODELS
    share: Share
    patience: float  # seconds that a search waits for a shard; 0: as long as it takes


def models_of(run: Path) -> tuple[str, ...]:
    """The digests of the models of a run. Raises UserError if it has no such part."""
    opened = Run(run)
    return tuple(opened.digest(part) for part in MODELS)


@serve.deployment(max_ongoing_requests=ASKED_TOGETHER)
class ShardDeployment:
    """A shard, in a process of its own."""

    def __init__(self, run: str, share: Share, patience: float):
        path = Path(run)
        self._shard = Shard(path, share)
        self._served = Served(models_of(path), share, patience)

    def scan(self, question: ScanQuestion) -> Answer:
        return self._shard.scan(question)

    def take(self, folder: str) -> None:
        self._shard.take(folder)

    def describe(self) -> Served:
        return self._served


class RayShards:
    """The shards of a run that a cluster serves; see `router.Shards`."""

    def __init__(self, handles: Sequence[DeploymentHandle], patience: float):
        """patience: seconds that a search waits for a shard; 0: as long as it takes."""
        self.handles, self.patience = handles, patience

    def scan(self, question: ScanQuestion) -> Sequence[Answer | None]:
        """The answer of each part, (b, k) each; None: it gave none in time. Raises UserError if a
        part does.
        """
        deadline = monotonic() + self.patience if self.patience else float("inf")
        asked = [handle.scan.remote(question) for handle in self.handles]
        return [
            self._answer(handle, response, question, deadline)
            for handle, response in zip(self.handles, asked, strict=True)
        ]

    def _answer(
        self,
        handle: DeploymentHandle,
        response: DeploymentResponse,
        question: ScanQuestion,
        deadline: float,
    ) -> Answer | None:
        """The first answer before the deadline; a part that ended meanwhile is asked again."""
        while True:
            try:  # what has arrived is taken, though another part used up the time
                return response.result(timeout_s=min(max(deadline - monotonic(), SOON), TAKE_IN))
            except TimeoutError:
                if monotonic() >= deadline:
                    response.cancel()
                    return None
            except (RayError, RayServeException) as error:
                cause = getattr(error, "cause", None)
                if isinstance(cause, UserError):
                    raise cause from None
                if monotonic() >= deadline:
                    return None
                sleep(SOON)  # Ray starts it again
                response = handle.scan.remote(question)

    def take(self, folder: str) -> None:
        """Returns when all parts have this folder of the index. Raises UserError if one has
        not.
        """
        for number, handle in enumerate(self.handles, 1):
            try:
                handle.take.remote(folder).result(timeout_s=TAKE_IN)
            except (RayError, RayServeException, TimeoutError) as error:
                cause = getattr(error, "cause", None)
                reason = cause if isinstance(cause, OtherSnapshotError) else "no answer"
                raise UserError(
                    f"part {number} of {len(self.handles)} has no index {folder} ({reason})"
                ) from None


def join_cluster(address: str | None) -> None:
    """Connect this process to a cluster, or start one on this machine if there is no address.

    Raises UserError for an address that does not answer, and for another version of Ray or of
    Python.
    """
    if ray.is_initialized():
        return
    host, _, port = (address or "").rpartition(":")
    try:
        if host and port.isdecimal():  # Ray itself would wait for minutes
            create_connection((host.removeprefix("ray://"), int(port)), REACHED).close()
    except OSError as error:
        raise UserError(
            NO_CLUSTER.format(address, error.strerror or "it does not answer")
        ) from None
    here = {
        "num_cpus": os.cpu_count(),
        "include_dashboard": False,
        "object_store_memory": 200_000_000,
    }
    options: dict[str, Any] = {"address": address} if address else here
    try:
        ray.init(namespace="genius", log_to_driver=False, logging_level="ERROR", **options)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UserError(NO_CLUSTER.format(address or "this machine", reason)) from None


def application(run: Path, share: Share) -> str:
    """The name of a shard in the cluster."""
    return f"genius-{run.resolve().name}-{share.number}-of-{share.of}"


def start_shards(
    run: Path, shards: int, replicas: int, patience: float, address: str | None
) -> None:
    """Serve a run in parts, and return when all of them answer. patience: in seconds, see
    `RayShards`. Raises UserError for a run or a cluster that is not there, and if a part does not
    start.
    """
    expect_run(run)
    join_cluster(address)
    serve.start(proxy_location=ProxyLocation.Disabled)  # routers ask by handles, nobody by HTTP
    for number in range(1, shards + 1):
        share = Share(number, shards)
        deployment: Any = ShardDeployment
        shard = deployment.options(num_replicas=replicas, ray_actor_options={"num_cpus": 0})
        try:
            serve.run(
                shard.bind(str(run.resolve()), share, patience),
                name=application(run, share),
                route_prefix=None,
            )
        except (RayError, RayServeException, RuntimeError) as error:
            stop_shards(run)
            raise UserError(
                f"part {share} of {run} does not start ({str(error).strip().splitlines()[-1]}); "
                "is the run at this path on every host?"
            ) from None


def stop_shards(run: Path) -> None:
    """End the shards of a run, and no others."""
    for name in served_shards(run):
        serve.delete(name)


def served_shards(run: Path) -> list[str]:
    """The names of the shards of a run that are served, by their numbers."""
    begin = application(run, Share(0, 0)).removesuffix("0-of-0")
    names = [name for name in serve.status().applications if name.startswith(begin)]
    return sorted(names, key=lambda name: int(name.removeprefix(begin).partition("-")[0]))


def connected(run: Path, address: str | None, device: str | None = None) -> RouterEngine:
    """An engine of the run whose scans the shards of a cluster do.

    Raises UserError if the cluster does not answer, does not serve the run, or serves it with other
    models.
    """
    join_cluster(address)
    try:
        handles = [serve.get_app_handle(name) for name in served_shards(run)]
        told: list[Served] = [
            handle.describe.remote().result(timeout_s=TAKE_IN) for handle in handles
        ]
    except (RayError, RayServeException, TimeoutError) as error:
        raise UserError(
            f"the parts of {run.name} do not answer ({one_line(error)}); start the cluster again"
        ) from None
    if not told:
        raise UserError(
            f"the cluster does not serve {run.name}; start it: genius cluster serve {run} "
            "--shards 2"
        )
    if len(told) != told[0].share.of:
        raise UserError(
            f"{len(told)} of {told[0].share.of} parts of {run.name} are served; start the "
            "cluster again"
        )
    if any(one.models != models_of(run) for one in told):
        raise UserError(
            f"the cluster serves other models of {run.name} than {run} has; copy the run "
            "to every host"
        )
    engine = RouterEngine.load(run, device)
    return engine.connect(RayShards(handles, told[0].patience))
