"""Ctrl-C and SIGTERM: when they end a command, and when they wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.interrupts import hold, listen, release

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
PROJECT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no way to send a signal there")


@pytest.fixture
def listening() -> Iterator[None]:
    give_back = listen()
    yield
    give_back()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.usefixtures("listening")
def test_a_signal_ends_what_is_done_and_one_that_is_held_waits(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    hold()
    signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt):
        release()

    release()


@pytest.mark.usefixtures("listening")
def test_the_second_signal_does_not_wait() -> None:
    hold()
    signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_signals_that_somebody_else_takes_stay_theirs_and_all_are_given_back() -> None:
    taken: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: taken.append(number))
    give_back = listen()
    signal.raise_signal(signal.SIGTERM)
    held = signal.getsignal(signal.SIGINT)
    give_back()
    signal.signal(signal.SIGTERM, before)

    assert taken == [signal.SIGTERM]
    assert held is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_module_that_is_being_imported_is_imported_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "halves.py").write_text(
        "import signal, time\nsignal.raise_signal(signal.SIGINT)\ntime.sleep(0.1)\nwhole = True\n"
    )
    program = (
        "import sys, time\n"
        "from agentmem_cli.cli.interrupts import listen\n"
        "listen()\n"
        "try:\n"
        "    import halves\n"
        "    time.sleep(30)\n"
        "except KeyboardInterrupt:\n"
        "    print(sys.modules['halves'].whole)\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}{tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, check=False, timeout=60
    )

    assert (done.stdout.strip(), done.returncode) == (b"True", 0), done.stderr
