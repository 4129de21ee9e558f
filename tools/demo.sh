#!/usr/bin/env bash
# What ./dev demo shows, once everything is built: each command as one would type it, then what it says.
set -euo pipefail

models=${TENSORTAP_TEST_MODELS#"$PWD"/}/magika/magika/models/standard_v3_3
folder=build/demo
dump=$folder/dump
PATH=$(dirname "$TENSORTAP_COMMAND"):$PATH

# show COMMAND...: prints the command with the model's long path shortened, then runs it.
show() {
  local text="" word
  for word in "$@"; do
    if [[ $word == *" "* ]]; then word="\"$word\""; fi
    text+="${text:+ }$word"
  done
  printf '\n\033[1m$ %s\033[0m\n' "${text//$models/\$MODEL}" | if [[ -t 1 && -z ${NO_COLOR:-} ]]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi
  "$@"
}

rm -rf "$folder"
mkdir -p "$folder"
echo "The model: magika ($models/model.onnx)"
echo "Its input: this project's README.md"
python examples/magika_demo.py prepare "$models" README.md "$folder/bytes.npy"

show tensortap run "$models/model.onnx" --input "bytes=$folder/bytes.npy" --full --verify --overhead \
  --out "$dump" --save-outputs "$folder/outputs"

printf '\nThe answer of the model: README.md is '
python examples/magika_demo.py answer "$models" "$(find "$folder/outputs" -name '*.npy' | sort | head -1)"

printf '\nThe ten ops with the widest range of values:\n'
show tensortap ls "$dump" --slot out --where "numel > 100 and type != 'Initializer'" --sort -range --limit 10

printf '\nThe same dump without tensortap, in Python:\n'
cat <<PYTHON

    import numpy as np
    records = np.load("$dump/records.npy", mmap_mode="r")
    tensors = np.load("$dump/tensors.npz")

PYTHON
python examples/magika_demo.py open "$dump"

printf '\nThe same dump in a browser:\n\n    %s serve %s\n' "${TENSORTAP_COMMAND#"$PWD"/}" "$dump"
