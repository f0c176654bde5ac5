#!/usr/bin/env bash
# Unpacks the image that the build has made, and starts the recipe with its files.
#
# Usage: run.sh BIN [OPTION ...]      BIN is the folder of the executables
set -euo pipefail

bin=${1?usage: run.sh BIN [OPTION ...]}
if [[ ! -f $bin/greeting.tar ]]; then echo "skipped: there is no image; install python3, which packs it"; exit 77; fi
folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT
tar -xOf "$bin/greeting.tar" layer.tar | tar -xC "$folder"
"$bin/container" --root "$folder" "${@:2}"
