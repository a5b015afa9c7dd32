"""The subcommands of `genius`, and the words by which a command was started."""

import argparse

SUBCOMMANDS = {  # name: the module that does it, and what it does
    "folder": ("training.folder", "make folders of images searchable"),
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
    "maps": ("training.maps", "lay out the maps of a run"),
    "ids": ("training.ids", "serve a run under IDs made elsewhere"),
    "names": ("training.names", "name the codes of a run"),
    "published": ("training.published", "convert the authors' checkpoints"),
}

started: dict[str, str] = {}  # a module, and how this process started it, where not by `python -m`


def program(module: str) -> str:
    """The words that started a module: `genius folder`, or `python -m training.folder`."""
    return started.get(module, f"python -m {module}")


def usage(module: str, doc: str) -> str:
    """The docstring of a module, with the words that started it in its commands."""
    return doc.replace(f"python -m {module} ", f"{program(module)} ")


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
        description=usage(module, doc.split("\n\nShapes:")[0]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
