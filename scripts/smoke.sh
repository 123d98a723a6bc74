#!/bin/sh
# Does the installed command start, as its users start it? Needs agentmem on
# the PATH (make smoke sees to that).
set -eu

AGENTMEM_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/agentmem-smoke.XXXXXX")
export AGENTMEM_ROOT
trap 'rm -rf "$AGENTMEM_ROOT"' EXIT

cd "$AGENTMEM_ROOT"
agentmem --version
agentmem --help > /dev/null
agentmem list > /dev/null
[ -z "$(ls -A)" ] || { echo "smoke: list left something in the root" >&2; exit 1; }
status=0
agentmem no-such-command 2> /dev/null || status=$?
[ "$status" -eq 2 ] || { echo "smoke: a wrong command ended with $status, not 2" >&2; exit 1; }
