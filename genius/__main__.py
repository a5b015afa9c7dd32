"""The command `genius`: the page, or a subcommand, which is a module that `python -m` runs too."""

import runpy
import sys

from genius.commands import SUBCOMMANDS, started

TRAINING_LIBRARIES = {"umap"}  # of the extra `train`


def main() -> None:
    name, *words = sys.argv[1:] or [""]
    if name not in SUBCOMMANDS:
        from genius.app import main as serve

        return serve()
    module, _ = SUBCOMMANDS[name]
    started[module] = f"genius {name}"
    sys.argv[1:] = words
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except ModuleNotFoundError as error:
        if error.name not in TRAINING_LIBRARIES:
            raise
        sys.exit(
            f"error: {error.name} is not installed; this command needs: pip install "
            "'genius-explorer[train]'"
        )


if __name__ == "__main__":
    main()
