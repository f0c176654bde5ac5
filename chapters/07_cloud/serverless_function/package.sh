#!/usr/bin/env bash
# Makes the package of the function that one uploads to AWS Lambda: a zip file with one program, named bootstrap.
#
# Usage: package.sh [FILE]    the package; function.zip if none is given
#
# The program contains its libraries (-static), so that it runs on any Linux of this kind of processor. The environment
# variable CXX names another compiler than g++.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$(dirname "${1-function.zip}")"
package=$(realpath "${1-function.zip}")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

read -ra compiler <<<"${CXX:-g++}"
"${compiler[@]}" -std=c++20 -O2 -c "$here/serverless_function_bootstrap.cpp" -o "$folder/bootstrap.o"
"${compiler[@]}" -static -s "$folder/bootstrap.o" -lboost_json -o "$folder/bootstrap"
cd "$folder"
cmake -E tar cf "$package" --format=zip bootstrap
