"""The session's lock as a program in another language takes it: it and ours wait for each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.reader import history, read_session
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import ok, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.name == "nt", reason="there is no flock there"),
]

PERL = r"""
use strict; use Fcntl qw(:DEFAULT :flock);
my ($lock, $log, $how) = @ARGV;
$| = 1;
sub locked { sysopen(my $f, $lock, O_RDWR | O_CREAT, 0600) or die $!; flock($f, LOCK_EX) or die $!;
             return $f }
if ($how eq "hold") { my $f = locked(); print "held\n"; <STDIN>; exit 0 }
for my $at (1 .. $how) {
    my $f = locked();
    open(my $in, "<", $log) or die $!;
    my $last; while (<$in>) { $last = $_ }
    my ($seq) = $last =~ /"seq":(\d+)/; my ($n) = $last =~ /"n":(\d+)/;
    my ($id) = $last =~ /.*"id":(\d+)/; my ($t) = $last =~ /"t":(\d+)/;
    my $line = sprintf('{"seq":%d,"n":%d,"t":%d,"type":"push","entries":[{"message":{"role":"user",'
        . '"content":[{"type":"text","text":"foreign %d"}]},"id":%d}]}' . "\n",
        $seq + 1, $n + 1, $t, $at, $id + 1);
    open(my $out, ">>", $log) or die $!;
    syswrite($out, $line) == length($line) or die $!;
    close($out); close($f);
    print "added\n";
    select(undef, undef, undef, 0.003);
}
"""

C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
static long after(const char *line, const char *key) {
    const char *found = 0, *next = line;
    while ((next = strstr(next, key))) {
        found = next++;
        if (strcmp(key, "\"id\":")) break;
    }
    if (!found) exit(3);
    return strtol(found + strlen(key), 0, 10);
}
int main(int argc, char **argv) {
    static char data[1 << 22], line[4096];
    int rounds = atoi(argv[3]);
    for (int at = 1; at <= rounds || !rounds; at++) {
        int lock = open(argv[1], O_RDWR | O_CREAT, 0600);
        if (lock < 0 || flock(lock, LOCK_EX)) return 1;
        if (!rounds) { puts("held"); fflush(stdout); getchar(); return 0; }
        int log = open(argv[2], O_RDWR | O_APPEND);
        ssize_t size = read(log, data, sizeof data - 1);
        if (size < 2) return 2;
        data[size - 1] = 0;
        const char *begin = strrchr(data, '\n');
        begin = begin ? begin + 1 : data;
        int length = snprintf(line, sizeof line,
            "{\"seq\":%ld,\"n\":%ld,\"t\":%ld,\"type\":\"push\",\"entries\":[{\"message\":{\"role\":"
            "\"user\",\"content\":[{\"type\":\"text\",\"text\":\"foreign %d\"}]},\"id\":%ld}]}\n",
            after(begin, "\"seq\":") + 1, after(begin, "\"n\":") + 1, after(begin, "\"t\":"), at,
            after(begin, "\"id\":") + 1);
        if (write(log, line, length) != length) return 4;
        close(log);
        close(lock);
        puts("added");
        fflush(stdout);
        usleep(3000);
    }
    return 0;
}
"""

OURS = 20
FOREIGN = 150


@pytest.fixture(params=["perl", "c"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """Return the other program's words; in the other language where one of the two is missing."""
    perl, compiler = shutil.which("perl"), shutil.which("cc")
    if not perl and not compiler:
        pytest.fail("neither perl nor cc is there, so the lock has no second implementation")
    if (request.param == "perl" and perl) or not compiler:
        return [str(perl), "-e", PERL]
    source, built = tmp_path / "other.c", tmp_path / "other"
    source.write_text(C)
    subprocess.run([compiler, "-o", built, source], check=True, timeout=100)
    return [str(built)]


@pytest.fixture
def session(root: Path) -> Path:
    ok("new", "one")
    ok("append", "one", "--role", "user", "--agent", "main", stdin=b"first")
    return root / "one"


def _begin(program: list[str], session: Path, how: str) -> subprocess.Popen[bytes]:
    lock, log = session / ".rig-memory.lock", session / "logs/main.jsonl"
    return subprocess.Popen(
        [*program, lock, log, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def _texts(session: Path) -> list[str]:
    read = read_session(DirStore.open(session))
    assert read.repairs == []
    return [entry.message.text for entry in read.agents[0].conversation.entries]


def _holding(program: list[str]) -> str:
    return "hold" if "-e" in program else "0"


def test_ours_waits_while_the_other_holds_and_then_succeeds(
    session: Path, program: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    other = _begin(program, session, _holding(program))
    assert other.stdout is not None
    assert other.stdin is not None
    held = other.stdout.readline()
    real = fcntl.flock
    refused: list[int] = []

    def asking(descriptor: int, how: int) -> None:
        try:
            real(descriptor, how)
        except OSError:
            refused.append(how)
            if len(refused) == 3:
                other.communicate(b"\n", 30)  # three times in vain: now let it end
            raise

    monkeypatch.setattr("fcntl.flock", asking)
    done = run("--lock-wait", "60", "append", "one", "--role", "user", stdin=b"second")

    assert held == b"held\n"
    assert done.status == 0
    assert len(refused) >= 3
    assert _texts(session) == ["first", "second"]


def test_the_other_waits_while_ours_holds_and_then_adds(session: Path, program: list[str]) -> None:
    store = DirStore.open(session)
    with store.lock():
        before = (session / "logs/main.jsonl").read_bytes()
        other = _begin(program, session, "1")
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.3)
        during = (session / "logs/main.jsonl").read_bytes()
    told, _ = other.communicate(timeout=30)

    assert during == before
    assert (other.returncode, told) == (0, b"added\n")
    assert _texts(session) == ["first", "foreign 1"]


def test_both_add_at_once_and_nothing_is_lost(session: Path, program: list[str]) -> None:
    with _begin(program, session, str(FOREIGN)) as other:
        assert other.stdout is not None
        told = [other.stdout.readline()]  # it is at work
        reader = threading.Thread(target=lambda: told.extend(other.stdout or ()))
        reader.start()
        statuses = []
        for at in range(OURS):
            words = ("--lock-wait", "60", "append", "one", "--role", "assistant")
            statuses.append(run(*words, stdin=b"ours %d" % at).status)
        reader.join(60)
        status = other.wait(30)
    texts = _texts(session)
    stamps = [stamp for stamp, _ in history(DirStore.open(session), "main")]

    assert (status, told) == (0, [b"added\n"] * FOREIGN)
    assert statuses == [0] * OURS
    assert [text for text in texts if re.match("ours", text)] == [f"ours {n}" for n in range(OURS)]
    assert [text for text in texts if text.startswith("foreign")] == [
        f"foreign {at}" for at in range(1, FOREIGN + 1)
    ]
    assert [stamp.seq for stamp in stamps] == list(range(1, 2 + OURS + FOREIGN))
    assert all(one.n < two.n for one, two in pairwise(stamps))
    assert ok("verify", "one", "--json").object["problems"] == 0
