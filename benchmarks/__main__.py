"""``python -m benchmarks COMMAND``: one command per question worth measuring; ``--json`` prints for machines."""

import argparse
import importlib
import json
import pkgutil
import sys
from types import ModuleType

import benchmarks


def commands() -> dict[str, ModuleType]:
    """Every module here that has ``add_arguments`` and ``run``, by its name with hyphens."""
    found = {}
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name.startswith("_"):
            continue
        loaded = importlib.import_module(f"benchmarks.{module.name}")
        if hasattr(loaded, "add_arguments") and hasattr(loaded, "run"):
            found[module.name.replace("_", "-")] = loaded
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = commands()
    for name, module in sorted(modules.items()):
        summary = (module.__doc__ or "").strip().split("\n")[0]
        subparser = subparsers.add_parser(name, help=summary, description=summary)
        subparser.add_argument("--json", action="store_true", help="print the result as JSON")
        module.add_arguments(subparser)
    options = parser.parse_args(arguments)
    module = modules[options.command]
    result = module.run(options)
    as_data = options.json or not hasattr(module, "render")
    print(json.dumps(result, indent=2, ensure_ascii=False) if as_data else module.render(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
