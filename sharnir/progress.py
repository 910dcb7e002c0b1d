"""Progress bars with an estimate of the time left, on the error stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sharnir.errors import one_line


@contextmanager
def bar(title: str, total: float, show: bool) -> Iterator[Callable[[float], None]]:
    """A bar over `total`; call the result with how far the work is."""
    if not show:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(one_line(title), total=total)
        yield lambda done: progress.update(task, completed=done)
