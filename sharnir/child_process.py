"""How interpreters of our own are started: what lies in the current folder is never imported.

`python -m` and `python -c` put the current folder in front of all others on the import path, so that a `json.py` beside
a robot's file would run. Every child is started by `-P`, which leaves it out, with a PYTHONPATH of absolute folders.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parents[1])  # the folder that this very package lies in
NOWHERE = os.path.abspath(os.sep)  # a folder for children to be in, which nobody else writes to
SAFE = "PYTHONSAFEPATH"  # set, it does what -P does, in all interpreters that are started with it


def module_command(name: str, *words: object) -> list[str]:
    """The command that runs a module of this package."""
    return [sys.executable, "-P", "-m", name, *map(str, words)]


def code_command(code: str, *words: object) -> list[str]:
    """The command that runs a program given as text."""
    return [sys.executable, "-P", "-c", code, *map(str, words)]


def child_environment(*single_threaded: str) -> dict[str, str]:
    """Of a child: this process's, with this package in front of the user's PYTHONPATH. Of that, entries that are empty
    or relative are left out: they mean whatever folder one is in. single_threaded: variables set to 1."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [PACKAGE, *(path for path in given if os.path.isabs(path))]
    ours = {"PYTHONPATH": os.pathsep.join(paths), SAFE: "1"}
    return {**os.environ, **dict.fromkeys(single_threaded, "1"), **ours}


@contextmanager
def safe_path() -> Iterator[None]:
    """Meanwhile, interpreters that other packages start leave the current folder out as well."""
    before = os.environ.get(SAFE)
    os.environ[SAFE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE]
        else:
            os.environ[SAFE] = before
