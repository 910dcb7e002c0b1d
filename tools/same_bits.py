"""Whether two versions of sharnir step to the same bits: hashes of states and of every step's report, case by case.

    python tools/same_bits.py BASE HEAD                  # all cases
    python tools/same_bits.py BASE HEAD --quick          # some that take every path: mostly the time to compile
    python tools/same_bits.py BASE . --only 'grasp/*'    # a folder instead of a commit: what is there now

BASE and HEAD are commits or folders. Each runs in a process of its own, with its own kernels, on this machine; cases
and worker are those beside this file. By default kernels are compiled without contraction (a·b + c rounded once), so
that moving code between functions changes no bit; `--flags as-built` compares what users run. Checked-out commits,
compiled kernels and results of commits are kept under --root and used again. Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

TOOLS = Path(__file__).resolve().parent
WORKER = TOOLS / "same_bits_worker.py"
Results = dict[str, dict[str, Any]]


class Side(NamedTuple):
    """One of the two versions. key: names its kernels and results; kept: whether results may be used again."""

    label: str
    folder: Path
    key: str
    kept: bool


def side_of(given: str, label: str, root: Path) -> Side:
    """A folder as it is, or a commit checked out under `root`."""
    if (Path(given) / "sharnir").is_dir():
        folder = Path(given).resolve()
        return Side(label, folder, f"folder-{hashlib.blake2b(str(folder).encode(), digest_size=5).hexdigest()}", False)
    asked = ["git", "-C", str(TOOLS), "rev-parse", "--verify", "--quiet", f"{given}^{{commit}}"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"same_bits: {given!r} is neither a commit nor a folder with sharnir in it")
    commit = found.stdout.strip()[:12]
    folder = root / "commits" / commit
    if not folder.is_dir():
        unpack(commit, folder)
    return Side(label, folder, commit, True)


def unpack(commit: str, folder: Path) -> None:
    """The package as of a commit."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as half:
        top = subprocess.check_output(["git", "-C", str(TOOLS), "rev-parse", "--show-toplevel"], text=True).strip()
        packed = subprocess.run(["git", "-C", top, "archive", commit, "sharnir"], check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", half], input=packed.stdout, check=True)
        (Path(half) / "sharnir").rename(Path(half) / "kept")
        folder.mkdir()
        (Path(half) / "kept").rename(folder / "sharnir")


class Runner:
    """Runs the worker with one version after the other."""

    def __init__(self, root: Path, flags: str, precision: str, fresh: bool) -> None:
        self.root, self.flags, self.precision, self.fresh = root, flags, precision, fresh

    def environment(self, side: Side) -> dict[str, str]:
        cache = self.root / "kernels" / f"{side.key}-{self.flags}-{self.precision}"
        cache.mkdir(parents=True, exist_ok=True)
        own = {"PYTHONPATH": str(side.folder), "WARP_CACHE_PATH": str(cache), "SHARNIR_PRECISION": self.precision}
        return os.environ | own

    def names(self, side: Side) -> dict[str, bool]:
        """Of all cases a version has, and whether they are quick."""
        command = [sys.executable, str(WORKER), "--list"]
        return json.loads(subprocess.check_output(command, env=self.environment(side)))

    def results(self, side: Side, names: list[str]) -> Results:
        """Of some cases, as far as possible from those kept."""
        file = self.root / "results" / f"{side.key}-{self.flags}-{self.precision}-{tools_key()}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        known = {} if self.fresh or not side.kept or not file.exists() else read(file)
        missing = [name for name in names if name not in known]
        if len(missing) < len(names):
            print(f"{side.label}: {len(names) - len(missing)} cases known from before", flush=True)
        with open(file, "a" if known else "w", encoding="utf-8") as kept:
            for k, result in enumerate(self.run(side, missing) if missing else ()):
                known[result["case"]] = result
                kept.write(json.dumps(result) + "\n")
                kept.flush()
                note = "refused" if "refused" in result else "" if result["finite"] else "NOT FINITE"
                place = f"{side.label} {k + 1}/{len(missing)}"
                print(f"{place:>12}  {result['seconds']:7.1f} s  {result['case']}  {note}", flush=True)
        return known

    def run(self, side: Side, names: list[str]) -> Iterator[dict[str, Any]]:
        """Lines of the worker."""
        command = [sys.executable, str(WORKER), "--flags", self.flags]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, env=self.environment(side), **pipes) as worker:
            worker.stdin.write(json.dumps(names))
            worker.stdin.close()
            package = Path(json.loads(worker.stdout.readline() or "{}").get("package", "/none"))
            if package.exists() and not package.resolve().is_relative_to(side.folder.resolve()):
                worker.terminate()
                raise SystemExit(f"same_bits: {side.label} would run {package}, not {side.folder}")
            for line in worker.stdout:
                yield json.loads(line)
        if worker.returncode:
            raise SystemExit(f"same_bits: the worker of {side.label} ended with {worker.returncode}")


def read(file: Path) -> Results:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {line["case"]: line for line in lines}


def tools_key() -> str:
    """Results of another worker, or of other cases, are not comparable."""
    digest = hashlib.blake2b(digest_size=4)
    for name in ("same_bits_worker.py", "same_bits_cases.py"):
        digest.update((TOOLS / name).read_bytes())
    return digest.hexdigest()


def difference(base: dict[str, Any] | None, head: dict[str, Any] | None) -> str | None:
    """In words; None where there is none."""
    if base is None or head is None:
        return "only in HEAD" if base is None else "only in BASE"
    if "refused" in base or "refused" in head:
        said = [side.get("refused") for side in (base, head)]
        return None if said[0] == said[1] else f"refused: {said[0]!r} and {said[1]!r}"
    parts = []
    report = first_unlike(base["reports"], head["reports"])
    if report is not None:
        parts.append(f"reports from step {report + 1}")
    state = first_unlike(base["state"], head["state"])
    if state is not None:
        parts.append(f"state from steps {state * base['chunk'] + 1} to {(state + 1) * base['chunk']}")
    if base["seen"] != head["seen"]:
        parts.append("what is seen at the end")
    return ", ".join(parts) or None


def first_unlike(some: list[str], others: list[str]) -> int | None:
    if len(some) != len(others):
        return min(len(some), len(others))
    return next((k for k, (a, b) in enumerate(zip(some, others, strict=True)) if a != b), None)


def chosen_cases(names: dict[str, bool], quick: bool, only: str | None) -> list[str]:
    pattern = "*" if only is None else only if "*" in only else f"*{only}*"
    return [name for name, is_quick in names.items() if (is_quick or not quick) and fnmatch(name, pattern)]


def table(names: list[str], base: Results, head: Results) -> int:
    """Print what differs, case by case; how many do."""
    width, different = max(map(len, names)), 0
    print(f"\n{'case':{width}}  result")
    for name in names:
        found = difference(base.get(name), head.get(name))
        different += found is not None
        print(f"{name:{width}}  {'same' if found is None else 'DIFFERENT: ' + found}")
    print(f"\n{len(names)} cases: " + (f"{different} DIFFERENT" if different else "all the same"))
    return different


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE", help="a commit or a folder")
    parser.add_argument("head", metavar="HEAD", help="a commit or a folder")
    parser.add_argument("--quick", action="store_true", help="only some cases, which take every path")
    parser.add_argument("--only", metavar="PATTERN", help="cases whose name contains or, with *, matches this")
    parser.add_argument("--single", action="store_true", help="in single precision instead of double")
    parser.add_argument("--flags", choices=("contract-off", "as-built"), default="contract-off")
    parser.add_argument("--fresh", action="store_true", help="run all again, whatever is known of a commit")
    parser.add_argument("--root", type=Path, default=Path(tempfile.gettempdir()) / "sharnir_same_bits")
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    runner = Runner(chosen.root.resolve(), chosen.flags, "single" if chosen.single else "double", chosen.fresh)
    sides = [side_of(given, label, runner.root) for given, label in ((chosen.base, "BASE"), (chosen.head, "HEAD"))]
    if sides[0].key == sides[1].key:  # a trial of this tool: the second is run anew
        sides[1] = sides[1]._replace(kept=False)
    listed = [chosen_cases(runner.names(side), chosen.quick, chosen.only) for side in sides]
    names = list(dict.fromkeys([*listed[0], *listed[1]]))
    if not names:
        raise SystemExit("same_bits: no such case")
    base, head = (runner.results(side, own) for side, own in zip(sides, listed, strict=True))
    sys.exit(1 if table(names, base, head) else 0)


if __name__ == "__main__":
    main()
