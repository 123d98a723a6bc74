#!/bin/sh
# A short tour: a pi transcript becomes a session, in a folder thrown away at
# the end. Needs agentmem on the PATH (make demo sees to that).
set -eu
cd "$(dirname "$0")/.."

AGENTMEM_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/agentmem-demo.XXXXXX")
export AGENTMEM_ROOT
trap 'rm -rf "$AGENTMEM_ROOT"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

run agentmem import examples/pi-session.jsonl
run agentmem --no-pager list
run agentmem --no-pager show @last
run agentmem --no-pager log @last
run agentmem --no-pager as-of @last '~3'
run agentmem --no-pager verify
