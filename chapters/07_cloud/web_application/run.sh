#!/usr/bin/env bash
# Starts the visitor, which starts the server and tries it; or the server alone.
#
# Usage: run.sh BIN [OPTION ...]            the options are those of web_visitor
#        run.sh BIN --serve [OPTION ...]    the options are those of web_application
#
# BIN is the folder of the executables.
set -euo pipefail

bin=${1?usage: run.sh BIN [OPTION ...]}
shift
if [[ ${1-} == --serve ]]; then exec "$bin/web_application" "${@:2}"; fi

# The comparison writes settings of nginx and a script of wrk here.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
"$bin/web_visitor" "$@"
