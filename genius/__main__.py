"""The command `genius`: the page, or a subcommand, which `python -m` runs, too."""

import sys
from importlib import import_module
from importlib.util import find_spec

from genius.commands import SUBCOMMANDS
from genius.errors import exit_on_user_error

TRAINING_LIBRARIES = {"umap"}  # of the extra `train`


def main() -> None:
    name, *words = sys.argv[1:] or [""]
    if name not in SUBCOMMANDS:
        from genius.app import main as serve

        return serve()
    module, _ = SUBCOMMANDS[name]
    sys.argv = [f"genius {name}", *words]  # as help names the command
    with exit_on_user_error():
        try:
            spec = find_spec(module)
            is_package = spec and spec.submodule_search_locations
            sys.exit(import_module(f"{module}.__main__" if is_package else module).main(words))
        except ModuleNotFoundError as error:
            if error.name not in TRAINING_LIBRARIES:
                raise
            sys.exit(
                f"error: {error.name} is not installed; this command needs: "
                "pip install 'genius-explorer[train]'"
            )


if __name__ == "__main__":
    main()
