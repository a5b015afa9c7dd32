"""The subcommands of `genius`, and the words by which a command was started."""

import argparse
import sys

SUBCOMMANDS = {  # name: the module that does it, and what it does
    "folder": ("training.own.folder", "make folders of images searchable"),
    "collections": ("genius.collections", "build a collection from folders, or check one"),
    "train": ("training", "train all models of a run"),
    "index": ("genius.index", "add items to a run, remove, check"),
    "export": (
        "genius.export",
        "write the items of a run as a table, or its codes and map as a site",
    ),
    "push": ("genius.hub", "upload a run to the Hugging Face hub"),
    "evaluate": ("genius.evaluation", "measure a run"),
    "speed": ("genius.evaluation.speed", "measure the speed of searches"),
    "cluster": ("genius.cluster", "encode and serve a run on several machines, with Ray"),
    "maps": ("training.stages.maps", "lay out the maps of a run"),
    "ids": ("training.own.ids", "serve a run under IDs made elsewhere"),
    "names": ("training.stages.names", "name the codes of a run"),
    "published": ("training.paper.published", "convert the authors' checkpoints"),
}


def program(module: str) -> str:
    """The words that started a command: `genius folder`, or `python -m training.folder`."""
    return sys.argv[0] if sys.argv[0].startswith("genius ") else f"python -m {module}"


def subcommand_list() -> str:
    width = max(map(len, SUBCOMMANDS))
    return "\n".join(
        f"  genius {name:{width}}  {purpose}" for name, (_, purpose) in SUBCOMMANDS.items()
    )


def command_parser(module: str, doc: str) -> argparse.ArgumentParser:
    """A parser for `python -m module`, with the module's docstring, up to its shapes, as help
    text.
    """
    return argparse.ArgumentParser(
        prog=program(module),
        description=doc.split("\n\nShapes:")[0].replace(
            f"python -m {module} ", f"{program(module)} "
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
