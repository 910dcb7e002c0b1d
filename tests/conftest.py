"""Makes the modules beside this file importable from all tests, and tells whether the page was tried in a browser."""

from __future__ import annotations

import os

import pytest

IN_BROWSER = "test_viewer_browser.py"
NEEDED = os.environ.get("SHARNIR_NEED_BROWSER") == "1"


def tried(terminal: pytest.TerminalReporter, outcome: str) -> list[pytest.TestReport]:
    reports = terminal.stats.get(outcome, [])
    return [r for r in reports if isinstance(r, pytest.TestReport) and IN_BROWSER in r.nodeid]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A plain line where there is no browser."""
    left_out = tried(terminalreporter, "skipped")
    if left_out:
        terminalreporter.write_line(f"{len(left_out)} tests of the page were left out: no browser here (chromium)")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where a browser is a must, a run in which it was not used is a failure; of two processes, the first tells."""
    if hasattr(session.config, "workerinput"):
        return
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    chosen = session.config.args == session.config.getini("testpaths")  # the whole suite
    if NEEDED and chosen and exitstatus == 0 and not tried(terminal, "passed"):
        terminal.write_line("the page was not tried in a browser, and SHARNIR_NEED_BROWSER=1 asks for it")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
