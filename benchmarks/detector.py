"""Measure what the detector of secrets finds, what it takes for one, and how fast.

    python -m benchmarks.detector [--aggressive] [--show N]

The inputs are named by the environment, each a list parted by colons:

    DETECTOR_CORPORA    JSON-lines transcripts; beside each a file of the same name
                        that ends in .truth: {"line", "kind", "secret"}, one a line
    DETECTOR_VECTORS    JSON lines of {"label", "rule", "source", "text"}
    DETECTOR_CLEAN      transcripts in which nothing may be found
    DETECTOR_CACHE      where the compiled rules are kept (else a new folder)

A planted secret counts as found when one span covers all of it; a line counts as
taken for one when anything is found where nothing was planted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.operations.secrets.engine import Detector, Span
from agentmem_cli.session import codec
from benchmarks.events import event_text

if TYPE_CHECKING:
    from collections.abc import Iterator


class Planted(NamedTuple):
    """A secret that stands in a line of a corpus."""

    kind: str
    secret: bytes


def main() -> int:
    """Measure what the environment names, and print it."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(os.environ.get("DETECTOR_CACHE") or folder)
        started = time.perf_counter()
        detector = Detector(cache_dir=cache)
        print(f"rules ready in {time.perf_counter() - started:.2f} s")
        looks = Looks(detector, aggressive=options.aggressive, shown=options.show)
        for path in _paths("DETECTOR_CORPORA"):
            _corpus(looks, path)
        for path in _paths("DETECTOR_CLEAN"):
            _clean(looks, path)
        for path in _paths("DETECTOR_VECTORS"):
            _vectors(looks, path)
    return 0


class Looks:
    """A detector with what is counted as found, and the time that it took."""

    def __init__(self, detector: Detector, *, aggressive: bool, shown: int) -> None:
        self._detector = detector
        self._aggressive = aggressive
        self.shown = shown
        self.took_s = 0.0
        self.size_bytes = 0

    def scan(self, text: bytes) -> list[Span]:
        """Return what counts of the spans in *text*."""
        started = time.process_time()
        spans = self._detector.scan(text)
        self.took_s += time.process_time() - started
        self.size_bytes += len(text)
        return [each for each in spans if self._aggressive or each.confidence != "low"]

    def rate(self) -> str:
        """Tell the rate so far, and begin anew."""
        rate = self.size_bytes / max(self.took_s, 1e-9) / 1e6
        self.took_s, self.size_bytes = 0.0, 0
        return f"{rate:.0f} MB/s"


def _corpus(looks: Looks, path: Path) -> None:
    planted: dict[int, list[Planted]] = {}
    for line in path.with_suffix(".truth").read_bytes().splitlines():
        row = codec.loads(line)
        assert isinstance(row, dict)
        each = Planted(str(row["kind"]), str(row["secret"]).encode())
        planted.setdefault(int(str(row["line"])), []).append(each)
    found, missed = Counter[str](), Counter[str]()
    lines = changed = 0
    for number, text in _events(path):
        spans = looks.scan(text)
        lines += 1
        secrets = planted.get(number, [])
        for each in secrets:
            whole = _covered(text, each.secret, spans)
            (found if whole else missed)[each.kind] += 1
            if not whole:
                _show(looks, f"missed {each.kind}", text, _place(text, each.secret))
        if not secrets and spans:
            changed += 1
            for span in spans:
                _show(looks, f"taken for {span.kind} ({span.rule})", text, span)
    total = found.total() + missed.total()
    without = lines - len(planted)
    print(
        f"{path.name}: {found.total()} of {total} found whole ({found.total() / total:.2%}); "
        f"{changed} of {without} other lines taken ({changed / without:.3%}); {looks.rate()}"
    )
    for kind, count in sorted(missed.items()):
        print(f"    missed {count} of {count + found[kind]} {kind}")


def _clean(looks: Looks, path: Path) -> None:
    changed = 0
    for _, text in _events(path):
        spans = looks.scan(text)
        changed += bool(spans)
        for span in spans:
            _show(looks, f"taken for {span.kind} ({span.rule})", text, span)
    print(f"{path.name}: {changed} lines taken; {looks.rate()}")


def _vectors(looks: Looks, path: Path) -> None:
    hits, totals = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for line in path.read_bytes().splitlines():
        row = codec.loads(line)
        assert isinstance(row, dict)
        text = str(row["text"]).encode()
        key = (str(row["source"]).partition("@")[0], str(row["label"]))
        spans = looks.scan(text)
        totals[key] += 1
        hits[key] += bool(spans)
        if bool(spans) != (row["label"] == "positive"):
            place = spans[0] if spans else None
            name = f"{spans[0].rule} in" if spans else "nothing in"
            _show(looks, f"{key[1]} of {key[0]} {row['rule']}: {name}", text, place)
    for key, total in sorted(totals.items()):
        print(f"{path.name}: {key[0]} {key[1]}: {hits[key]} of {total} ({hits[key] / total:.1%})")


def _events(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as stream:
        for number, line in enumerate(stream):
            yield number, event_text(line)


def _covered(text: bytes, secret: bytes, spans: list[Span]) -> bool:
    for form in _forms(secret):
        place = text.find(form)
        while place >= 0:
            end = place + len(form)
            if any(each.start <= place and end <= each.end for each in spans):
                return True
            place = text.find(form, place + 1)
    return False


def _forms(secret: bytes) -> tuple[bytes, bytes]:
    """Return *secret* as it is, and as it stands in JSON that was not decoded."""
    plain = secret.rstrip(b"\n")
    return plain, codec.dumps(plain.decode())[1:-1]


def _place(text: bytes, secret: bytes) -> Span | None:
    for form in _forms(secret):
        place = text.find(form)
        if place >= 0:
            return Span(place, place + len(form), "", "low", "")
    return None


def _show(looks: Looks, what: str, text: bytes, place: Span | None) -> None:
    if looks.shown <= 0:
        return
    looks.shown -= 1
    start, end = (place.start, place.end) if place else (0, 100)
    before, inside = text[max(0, start - 60) : start], text[start:end][:160]
    shown = b"%s>>>%s<<<%s" % (before, inside, text[end : end + 40])
    print(f"  {what}: {shown.decode(errors='replace')!r}", file=sys.stderr)


def _paths(name: str) -> list[Path]:
    return [Path(each) for each in os.environ.get(name, "").split(os.pathsep) if each]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--aggressive", action="store_true", help="count weak findings too")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N single cases")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
