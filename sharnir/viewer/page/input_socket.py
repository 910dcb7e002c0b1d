"""The websocket of held keys and gamepads, which viser has not: small messages of a closed list, as JSON."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sharnir.viewer.commands import Command, Kind
from sharnir.viewer.input_mapping import BUTTONS, STICKS, Mapping
from sharnir.viewer.page.control import Control

PAGE = re.compile(r"[0-9a-f]{16}")
KEY = re.compile(r"[A-Za-z0-9]{1,24}")
KEYS = 32  # held at once
LONGEST = 4096  # characters of a message
TELL = 0.1  # s, between words to a page


def page_of(path: str) -> str | None:
    """The page that opened a websocket, by the name in its address."""
    names = parse_qs(urlsplit(path).query).get("page", [])
    return names[0] if len(names) == 1 and PAGE.fullmatch(names[0]) else None


class Bridge:
    """Serves pages. status: what all are told of the simulation."""

    def __init__(self, control: Control, mapping: Mapping | None, status: Callable[[], dict[str, Any]]) -> None:
        self._control, self._mapping, self._status = control, mapping, status

    async def serve(self, connection: Any) -> None:
        """Listen to a page until it leaves or says what is not on the list."""
        from websockets.exceptions import ConnectionClosed

        page = page_of(connection.request.path)
        if page is None:
            await connection.close(1008, "no page")
            return
        self._control.take(page)
        teller = asyncio.create_task(self._tell(connection, page))
        try:
            async for message in connection:
                if not self.obey(page, message):
                    await connection.close(1008, "not on the list")
                    break
        except ConnectionClosed:
            pass
        finally:
            teller.cancel()
            self._control.release(page)

    def obey(self, page: str, message: Any) -> bool:
        """Do what a page says; False where it says what no page of ours does."""
        if not isinstance(message, str) or len(message) > LONGEST:
            return False
        try:
            said = json.loads(message)
        except (ValueError, RecursionError):
            return False
        if not isinstance(said, dict):
            return False
        kind = said.get("type")
        if kind == "held":
            held = heard(said)
            if held is None:
                return False
            self._control.held(page, *held)
        elif kind == "take":
            self._control.take(page)
        elif kind == "release":
            self._control.release(page)
        elif kind == "stop":
            self._control.send(page, Command(Kind.STOP))
        elif kind == "clear":
            self._control.send(page, Command(Kind.CLEAR))
        else:
            return False
        return True

    async def _tell(self, connection: Any, page: str) -> None:
        """Tell a page how to drive, and then how things stand."""
        from websockets.exceptions import ConnectionClosed

        axes = [] if self._mapping is None else [[a.name, a.words(), list(a.keys or ())] for a in self._mapping.axes]
        title = "" if self._mapping is None else self._mapping.title
        try:
            await connection.send(json.dumps({"type": "drive", "title": title, "axes": axes}))
            while True:
                holder = self._control.holder
                role = "you" if holder == page else "free" if holder is None else "other"
                await connection.send(json.dumps({"type": "status", "control": role, **self._status()}))
                await asyncio.sleep(TELL)
        except ConnectionClosed:
            pass


def heard(said: dict[str, Any]) -> tuple[set[str], list[float], list[float]] | None:
    """Keys, sticks and buttons that are held; None where they are something else."""
    keys, sticks, buttons = (said.get(name, []) for name in ("keys", "sticks", "buttons"))
    if not isinstance(keys, list) or len(keys) > KEYS:
        return None
    if not all(isinstance(k, str) and KEY.fullmatch(k) for k in keys):
        return None
    if not (numbers(sticks, STICKS, -1.0) and numbers(buttons, BUTTONS, 0.0)):
        return None
    return set(keys), [float(x) for x in sticks], [float(x) for x in buttons]


def numbers(values: Any, most: int, low: float) -> bool:
    """Whether these are a few numbers from low to 1."""
    if not isinstance(values, list) or len(values) > most:
        return False
    plain = (isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) for x in values)
    return all(plain) and all(low - 0.01 <= x <= 1.01 for x in values)
