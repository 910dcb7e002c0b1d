"""How tests check that bad input is refused."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import pytest

from sharnir import ModelError, SimulationWarning


@contextmanager
def refused(*fragments, error=ModelError):
    """The block raises an error of one line that holds all fragments; any other exception or a warning fails, but for
    what is said of steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SimulationWarning)
        with pytest.raises(error) as caught:
            yield caught
    message = str(caught.value)
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message, message
