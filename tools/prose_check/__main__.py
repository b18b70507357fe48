"""The command: `python -m tools.prose_check [--count | --json | --rules] [PATH ...]`."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from tools.prose_check import exceptions, files, rules
from tools.prose_check.rules import Hit


def main(arguments: Sequence[str] | None = None) -> int:
    """Check files and print what is found. Return 1 if there are hits or the exceptions have a problem."""
    options = _parser().parse_args(arguments)
    known = rules.load()
    if options.rules:
        _print_rules(known)
        return 0
    listed, problems = exceptions.load(
        exceptions.EXCEPTIONS.read_text(), [rules.LONG_SENTENCE, *(rule.name for rule in known)]
    )
    found, unused = exceptions.apply(files.hits(files.tracked(options.paths), known), listed)
    if not options.paths:
        problems += unused
    if options.json:
        print(json.dumps(_summary(found)))
    elif options.count:
        _print_counts(found)
    else:
        _print_hits(found)
    for problem in problems:
        print(f"{exceptions.EXCEPTIONS.name}:{problem.line}: {problem.problem}", file=sys.stderr)
    return 1 if found or problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="just prose", description="Check that prose is plain technical English."
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders; the whole repository by default"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--count", action="store_true", help="print the number of hits by folder and by rule")
    output.add_argument("--json", action="store_true", help="print these numbers as one line of JSON")
    output.add_argument("--rules", action="store_true", help="print every rule with an example and exit")
    return parser


def folder_of(path: str) -> str:
    """Return the folder under which a file is counted: a subject of the server, or the first two levels."""
    parts = PurePosixPath(path).parts
    depth = 4 if parts[:2] == ("server", "src") else 2
    return "/".join(parts[:-1][:depth]) or "."


def _summary(found: list[Hit]) -> dict[str, object]:
    return {
        "hits": len(found),
        "rules": dict(Counter(hit.rule for hit in found).most_common()),
        "folders": dict(Counter(folder_of(hit.path) for hit in found).most_common()),
    }


def _print_hits(found: list[Hit]) -> None:
    for hit in found:
        print(f"{hit.path}:{hit.line}: {hit.rule}: “{hit.found}”. {hit.reason} Write: {hit.instead}.")
    if found:
        print(f"{len(found)} hits. `just prose --rules` shows an example for each rule.", file=sys.stderr)


def _print_counts(found: list[Hit]) -> None:
    by_rule = Counter(hit.rule for hit in found)
    by_folder = Counter(folder_of(hit.path) for hit in found)
    by_both = Counter((folder_of(hit.path), hit.rule) for hit in found)
    for folder, count in by_folder.most_common():
        print(f"{count:7,}  {folder}")
        inside = sorted(((n, rule) for (where, rule), n in by_both.items() if where == folder), reverse=True)
        print("         " + ", ".join(f"{rule} {n}" for n, rule in inside))
    print()
    for rule, count in by_rule.most_common():
        print(f"{count:7,}  {rule}")
    print(f"{len(found):7,}  hits")


def _print_rules(known: tuple[rules.Rule, ...]) -> None:
    for rule in known:
        print(
            f"{rule.name}: {rule.reason}\n  write:  {rule.instead}\n  before: {rule.before}\n  after:  {rule.after}"
        )


if __name__ == "__main__":
    sys.exit(main())
