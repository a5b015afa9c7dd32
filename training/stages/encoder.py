"""Train the encoder by contrastive learning (Eq. 2): CLIP score fusion, or a baseline of the paper.

    python -m training.encoder COLLECTION RUN [--preset small|toy|photos|shipped|paper|paper-text]

Shapes: b pairs of a batch, d embedding dim.
"""

import math
import shutil
import textwrap
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import open_clip
import torch
from open_clip.transform import PreprocessCfg
from timm.layers import convert_sync_batchnorm
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from genius.models.feature_fusion import FeatureFusionEncoder
from genius.models.model_hubs import quiet_hub
from genius.models.pretrained import open_clip_encoder, towers_encoder
from genius.models.saving import round_to_half
from genius.run import Run
from training.checkpoint import Checkpoints, reseed
from training.command_line import Arguments
from training.data.class_pictures import with_classes
from training.data.encoder_inputs import (
    OWN_INSTRUCTION,
    FeatureFusionLoader,
    InputLoader,
    InstructionSwaps,
)
from training.data.pairs import CandidateTable, Pairs, split_batches
from training.distributed import broadcast_buffers, is_main, progress_bar, world_size
from training.presets import SHIPPED, photo_run
from training.settings import EncoderSettings
from training.stage import publish, seconds_per_step, stage_command
from training.stages.curves import record_epoch
from training.stages.locked import LockedEncoder, LockedLoader
from training.stages.optimization import (
    WeightAverage,
    adamw,
    bf16_where_fast,
    contrastive_loss,
    cosine,
    descend,
)
from training.stages.tower_features import statistics

BETAS = (0.9, 0.98)  # of AdamW, as in UniIR
SAMPLE = 1500  # validation queries of the hit rates after each epoch
BLOCK = 256  # validation queries encoded together
FUSION_LAYERS = 2  # of CLIP-FF, as in UniIR


def train(arguments: Arguments) -> None:
    """Train the encoder, or take it as it is, and publish it. Raises UserError for settings that do
    not fit it.
    """
    settings, seed = arguments.settings.encoder, arguments.settings.seed
    run = Run(arguments.run)
    torch.manual_seed(seed)
    encoder = new_encoder(settings)
    collection = with_classes(
        Collection(arguments.collection), encoder.config.model, settings.locked.class_pictures
    )
    if settings.fusion == "feature":
        encoder = FeatureFusionEncoder.over(encoder, FUSION_LAYERS)
    encoder.check()
    if encoder.config.apart and settings.modality_weight:
        raise UserError(
            "this encoder reads instructions apart from texts, so set encoder.modality_weight to 0"
        )
    if settings.grad_checkpointing:
        if not hasattr(encoder.clip, "set_grad_checkpointing"):
            raise UserError(
                "encoder.grad_checkpointing is for the models of open_clip; set it to "
                "false for BLIP"
            )
        # activations are computed again for gradients, and not kept
        encoder.clip.set_grad_checkpointing()
    if settings.locked.enabled:
        # so that the heads learn on outputs of the towers that will be stored
        round_weights(encoder, settings)
    # on CPUs each normalizes over its slice
    if world_size() > 1 and torch.device(arguments.device).type == "cuda":
        encoder.clip = convert_sync_batchnorm(encoder.clip)
    encoder = encoder.to(arguments.device).to(memory_format=torch.channels_last)
    checkpoints = fit_encoder(encoder, collection, arguments) if settings.epochs else None
    round_weights(encoder, settings)
    publish(
        run,
        "encoder",
        partial(encoder.eval().cpu().save, half=settings.half, eight_bit=settings.eight_bit),
    )
    if checkpoints is not None:
        checkpoints.clear()  # once the weights are published
    if is_main():
        shutil.rmtree(run.path / "cache", ignore_errors=True)


def round_weights(encoder: Encoder, settings: EncoderSettings) -> None:
    """Round the weights to what will be stored."""
    if settings.half or settings.eight_bit:
        round_to_half(encoder, settings.eight_bit)


def new_encoder(settings: EncoderSettings) -> Encoder:
    """A pretrained encoder, one made of pretrained towers, or one of the given architecture with
    random weights.

    Raises UserError if weights cannot be loaded, the architecture cannot be built, or only one
    tower is given.
    """
    if settings.image_tower or settings.text_tower:
        if not (settings.image_tower and settings.text_tower):
            raise UserError("set encoder.image_tower and encoder.text_tower, both or neither")
        encoder = towers_encoder(settings.image_tower, settings.text_tower, settings.towers)
        if settings.towers.bridge and "bridge" not in encoder.config.model:
            print(
                "encoder: the image tower does not say that its classes are of ImageNet, "
                "so there is no class bridge"
            )
        return encoder
    if settings.architecture == SHIPPED:
        return Encoder.load(photo_run().folder("encoder"))
    if settings.pretrained and (Path(settings.pretrained) / "config.json").is_file():
        return Encoder.load(Path(settings.pretrained))
    architecture = settings.architecture
    if settings.pretrained:
        assert isinstance(architecture, str), "a configuration has no pretrained weights"
        return open_clip_encoder(architecture, settings.pretrained)
    if isinstance(architecture, str):
        architecture = open_clip.get_model_config(architecture)
        if architecture is None:
            raise UserError(
                f"open_clip has no architecture {settings.architecture!r}; list them with: "
                'python -c "import open_clip; print(open_clip.list_models())"'
            )
    try:
        with quiet_hub():
            side = architecture["vision_cfg"]["image_size"]
            return Encoder(
                EncoderConfig(architecture, asdict(PreprocessCfg(size=side, resize_mode="squash")))
            )
    except Exception as error:  # open_clip, timm, transformers and the hub raise many types
        raise UserError(
            f"the architecture {settings.architecture} cannot be built "
            f"({textwrap.shorten(str(error), 200)}); set encoder.architecture to another one"
        ) from error


def fit_encoder(encoder: Encoder, collection: Collection, arguments: Arguments) -> Checkpoints:
    """Train every weight, or the heads alone behind locked towers. Returns the checkpoints, to be
    cleared.
    """
    settings, seed = arguments.settings.encoder, arguments.settings.seed
    candidates = CandidateTable.read(collection)
    splits = [
        Pairs.read(collection, split, candidates).select_rows(settings.rows)
        for split in ("train", "val")
    ]
    pairs, _ = splits
    swaps = None
    kinds = candidates.modalities if encoder.config.apart else None
    if settings.modality_weight:
        swaps = InstructionSwaps(collection, pairs, candidates, settings, encoder.dim).to(
            encoder.device
        )
    digests = pairs.training_digest, candidates.content_digest
    checkpoints = Checkpoints(arguments.run, "encoder", settings, seed, *digests)
    if settings.locked.enabled:
        heads = LockedEncoder(encoder, settings.locked.input_dropout)
        loader = LockedLoader(collection, splits, arguments, heads, swaps)
        if settings.image_tower:  # the heads are new, so they may take standardized outputs
            heads.standardize(statistics(loader.photographs), statistics(loader.text_outputs))
        fit(heads, loader, splits, arguments, checkpoints, kinds)
        heads.fold()
    else:
        loader_class = FeatureFusionLoader if settings.fusion == "feature" else InputLoader
        inputs = loader_class(collection, splits, arguments, encoder, swaps)
        fit(encoder, inputs, splits, arguments, checkpoints, kinds)
    return checkpoints


def fit(
    encoder: Encoder | LockedEncoder,
    loader: InputLoader | LockedLoader,
    splits: Sequence[Pairs],
    arguments: Arguments,
    checkpoints: Checkpoints,
    kinds: np.ndarray | None,
) -> None:
    """Run the epochs that are not done; in the end the encoder has the average of its weights, if
    it is asked for.

    kinds: modalities (n,) of the candidates, if only those of the wanted one are negatives.
    """
    settings, seed, swaps = arguments.settings.encoder, arguments.settings.seed, loader.swaps
    pairs, val_pairs = splits
    average = WeightAverage(encoder, settings.average)
    model = nn.ModuleDict(
        {"encoder": encoder, "average": average} | ({} if swaps is None else {"swaps": swaps})
    )
    optimizer = adamw(model, settings.learning_rate, settings.weight_decay, BETAS, fused=True)
    for epoch in checkpoints.epochs(model, optimizer, settings.epochs):
        rng = reseed(seed, epoch)
        started = time.perf_counter()
        losses = []
        batches = pairs.batches(
            rng, settings.batch, settings.group, settings.upsample_to, settings.drop_last
        )
        encoder.train()
        inputs = loader.load_pairs(pairs, batches, rng, training=True)
        steps = len(batches)
        progress = progress_bar(inputs, desc=f"encoder epoch {epoch}", unit="batch", total=steps)
        for step, (queries, targets) in enumerate(progress):
            rate = cosine(epoch * steps + step, settings.epochs * steps, settings.warmup)
            with bf16_where_fast(encoder.device, settings.bf16):
                query = queries.embedding(encoder)
                target = targets.embedding(encoder)
            # what other queries retrieve is not known
            labeled = np.flatnonzero(queries.instruction == OWN_INSTRUCTION)
            positives = pairs if settings.mask_positives else None
            loss = contrastive_loss(
                query[labeled],
                target[labeled],
                encoder.logit_scale.exp(),
                no_negatives(
                    queries.rows[labeled], targets.rows[labeled], positives, kinds, query.device
                ),
                settings.symmetric_loss,
            )
            if swaps is not None:
                loss = loss + swaps.loss(queries, targets, query, target)
            descend(optimizer, loss, settings.learning_rate * rate, model, settings.clip_grad_norm)
            if settings.max_logit_scale:
                with torch.no_grad():
                    encoder.logit_scale.clamp_(max=math.log(settings.max_logit_scale))
            average.update()
            losses.append(loss.item())
        broadcast_buffers(encoder)
        pace = seconds_per_step(started, steps)
        with average.averaged_weights():
            hit_at_1, hit_at_5 = validate(encoder, loader, val_pairs, seed, kinds)
        figures = {
            "loss": float(np.mean(losses)),
            "validation hit@1": hit_at_1,
            "validation hit@5": hit_at_5,
        }
        record_epoch(Run(arguments.run), "encoder", epoch, figures, started, pace)
        checkpoints.save(model, optimizer, epoch)
    average.apply_averages()


def no_negatives(
    queries: np.ndarray,
    targets: np.ndarray,
    pairs: Pairs | None,
    kinds: np.ndarray | None,
    device: torch.device,
) -> Tensor | None:
    """(b, b) which target is no negative of which query; None: each of another query is one.

    queries, targets (b,): of a batch. pairs: where further positives stand. kinds: see `fit`.
    """
    mask = np.zeros((len(targets), len(targets)), dtype=bool)
    if pairs is not None:
        mask |= pairs.positive_mask(queries, targets)
    if kinds is not None:
        mask |= kinds[targets, None] != kinds[targets]
    return torch.from_numpy(mask).to(device) if mask.any() else None


@torch.inference_mode()
def validate(
    encoder: Encoder | LockedEncoder,
    loader: InputLoader | LockedLoader,
    pairs: Pairs,
    seed: int,
    kinds: np.ndarray | None,
) -> tuple[float, float]:
    """hit@1 and hit@5 of a fixed sample of validation queries, among the targets of that sample.

    kinds: modalities (n,) of the candidates, if only those of the wanted one are searched.
    """
    encoder.eval()
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(len(pairs))[:SAMPLE])
    blocks = split_batches(sample, BLOCK, drop_last=False)
    query, target, rows = [], [], []
    for queries, targets in loader.load_pairs(pairs, blocks, rng, training=False):
        query.append(queries.embedding(encoder))
        target.append(targets.embedding(encoder))
        rows.append(targets.rows)
    similarity = (torch.cat(query) @ torch.cat(target).T).cpu()
    of_targets = np.concatenate(rows)
    positive_mask = torch.from_numpy(pairs.positive_mask(sample, of_targets))
    if kinds is not None:
        similarity[torch.from_numpy(kinds[of_targets, None] != kinds[of_targets])] = -torch.inf
    best = torch.where(positive_mask, similarity, -torch.inf).amax(1, keepdim=True)
    rank = ((similarity > best) & ~positive_mask).sum(1)
    return (rank < 1).float().mean().item(), (rank < 5).float().mean().item()


if __name__ == "__main__":
    stage_command("encoder", train, __doc__)
