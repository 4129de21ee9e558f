#!/usr/bin/env bash
# Uses the wheels in FOLDER in a bare Debian without a compiler, as a user would, and says what came of it.
# usage: try_wheel.sh SUITE MACHINE FOLDER CHROOTS        (root)
#
# SUITE is a release of Debian, MACHINE amd64 or arm64; another machine than this one needs qemu-user-static and binfmt-support.
# CHROOTS/SUITE-MACHINE is made by debootstrap when it is not there; what is installed into it goes with the next run. bullseye's Python is
# too old for the package: there the program runs out of the unpacked wheel.
set -euo pipefail

readonly USAGE="usage: try_wheel.sh SUITE MACHINE FOLDER CHROOTS"
suite=${1:?"$USAGE"}
machine=${2:?"$USAGE"}
wheels=$(realpath "${3:?"$USAGE"}")
chroots=$(realpath -m "${4:?"$USAGE"}")
root=$chroots/$suite-$machine
project=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
model=build/assets/models/magika/magika/models/standard_v3_3/model.onnx

fail() {
  echo "try_wheel.sh: $suite, $machine: $*" >&2
  exit 1
}

# The first mirror that apt knows.
mirror() { apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -1; }

make_root() {
  local unfinished=$root.unfinished packages=ca-certificates
  [[ $suite == bullseye ]] || packages+=,python3,python3-venv
  rm -rf "$unfinished"
  mkdir -p "$chroots"
  debootstrap --arch="$machine" --variant=minbase --include="$packages" "$suite" "$unfinished" "$(mirror)" >"$root.log" 2>&1 ||
    fail "debootstrap failed: $root.log says why"
  rm -rf "$unfinished/var/cache/apt/archives" "$unfinished/var/lib/apt/lists"
  mv "$unfinished" "$root"
}

# What the way to the package index needs: names, certificates, pip's settings.
share_network() {
  local path
  for path in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/xdg/pip /etc/ssl/certs/ca-certificates.crt; do
    if [[ -e $path ]]; then mkdir -p "$root$(dirname "$path")" && cp -rL "$path" "$root$(dirname "$path")/"; fi
  done
  if [[ -d ${PIP_FIND_LINKS:-} ]]; then mkdir -p "$root$PIP_FIND_LINKS" && mount --bind "$PIP_FIND_LINKS" "$root$PIP_FIND_LINKS"; fi
}

# inside COMMAND...: in the chroot, with nothing of this environment but pip's settings.
inside() {
  local settings=()
  while IFS= read -r line; do settings+=("$line"); done < <(env | grep -E '^(PIP_[A-Z_]+|https?_proxy|SSL_CERT_FILE)=' || true)
  env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/try LC_ALL=C.UTF-8 "${settings[@]}" "$(command -v chroot)" "$root" "$@"
}

# expect [CODE] TEXT COMMAND...: the command ends with CODE, otherwise with 0, and says the text.
expect() {
  local code=0 ended=0 text said
  if [[ $1 == [0-9] ]]; then code=$1 && shift; fi
  text=$1
  shift
  said=$(inside "$@" 2>&1) || ended=$?
  [[ $ended -eq $code ]] || fail "$*: exit code $ended: $said"
  [[ $said == *"$text"* ]] || fail "$*: it did not say: $text"
  printf '%s\n' "$said" | sed 's/^/    /'
}

# wheel_for python|program: the wheel for the Python of this system, or any.
wheel_for() {
  local tag=cp312-abi3
  if [[ $1 == program ]] || inside python3 -c 'import sys; sys.exit(sys.version_info >= (3, 12))'; then tag=cp311-cp311; fi
  printf '%s\n' "$wheels"/tensortap-*"-$tag-"*"_$(uname_of "$machine").whl" | tail -1
}

uname_of() { case $1 in amd64) echo x86_64 ;; arm64) echo aarch64 ;; *) fail "nothing is known about the machine $1" ;; esac; }

try_package() {
  inside python3 -m venv /try/venv
  inside /try/venv/bin/pip install -q --disable-pip-version-check --only-binary :all: "/try/wheels/$(basename "$(wheel_for python)")[onnx]"
  inside /try/venv/bin/tensortap --version
  expect "identical to the plain run" /try/venv/bin/tensortap run /try/model.onnx --full --verify --out /try/dump
  expect "GlobalMaxPool" /try/venv/bin/tensortap ls /try/dump --where "type == 'GlobalMaxPool'"
  expect "adapters    torch 2.4 to" /try/venv/bin/tensortap doctor
  expect "records" /try/venv/bin/python -c 'import tensortap; dump = tensortap.open("/try/dump"); print(len(list(dump.select())), "records")'
}

# Another machine's processor is imitated, slowly: there a program of two lines has to do, and a release of torch that brings no CUDA.
try_torch_imitated() {
  inside /try/venv/bin/pip install -q --disable-pip-version-check --only-binary :all: torch==2.8.0
  expect "began at    step 0, log (log)" env XDG_CACHE_HOME=/try/cache /try/venv/bin/tensortap exec --out /try/torch -- \
    /try/venv/bin/python -c 'import torch; print((torch.ones(2, 3) @ torch.ones(3) - 4).log().sum())'
}

try_torch() {
  inside /try/venv/bin/pip install -q --disable-pip-version-check --only-binary :all: torch scikit-learn
  # The program ends with 1: its loss is NaN, which is what it is for.
  expect 1 "began at    step 61, Digits.norm/RsqrtBackward0/pow" env XDG_CACHE_HOME=/try/cache \
    /try/venv/bin/tensortap exec --out /try/digits -- /try/venv/bin/python /try/train_digits.py
}

# Without Python: the program, and the runtime, out of their unpacked wheels.
try_program() {
  local wheel runtime
  wheel=$(wheel_for program)
  runtime=$(printf '%s\n' "$project"/build/assets/runtimes/*/libonnxruntime.so.* | sort -V | tail -1)
  mkdir -p "$root/try/unpacked"
  "$project/build/venv/bin/python" -m zipfile -e "$wheel" "$root/try/unpacked"
  cp "$runtime" "$root/try/"
  local program
  program=$(cd "$root" && echo try/unpacked/tensortap-*.data/scripts/tensortap)
  program=/$program
  chmod 755 "$root$program"
  local named=(env "TENSORTAP_ONNXRUNTIME=/try/${runtime##*/}" "$program")
  expect "tensortap" "${named[@]}" --version
  expect "identical to the plain run" "${named[@]}" run /try/model.onnx --full --verify --out /try/dump
  expect "GlobalMaxPool" "${named[@]}" ls /try/dump --where "type == 'GlobalMaxPool'"
  expect "self-test: passed" "${named[@]}" doctor
}

main() {
  [[ -e $root/etc/debian_version ]] || make_root
  for tool in g++ gcc cc clang; do
    [[ ! -e $root/usr/bin/$tool ]] || fail "it has a compiler ($tool), so nothing would be shown"
  done
  rm -rf "$root/try"
  mkdir -p "$root/try/wheels"
  share_network
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  cp "$wheels"/*.whl "$root/try/wheels/"
  cp "$project/$model" "$root/try/model.onnx"
  cp "$project/examples/train_digits.py" "$root/try/"
  if [[ $suite == bullseye ]]; then
    try_program
  else
    try_package
    if [[ $(uname_of "$machine") != $(uname -m) ]]; then
      try_torch_imitated
    elif [[ $suite == bookworm ]]; then
      try_torch
    fi
    [[ -z $(find "$root/try/cache" -name '*.so' 2>/dev/null) ]] || fail "an adapter was made though the wheel has one"
  fi
  rm -rf "$root/try"
  echo "$suite, $machine: glibc $(inside ldd --version | sed -n '1s/.* //p'): everything works"
}

# Mounts are those of this process alone and go with it.
if [[ ${TRY_WHEEL_ALONE:-} != yes ]]; then TRY_WHEEL_ALONE=yes exec unshare --mount bash "$0" "$@"; fi
main
