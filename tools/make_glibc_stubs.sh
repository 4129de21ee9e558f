#!/usr/bin/env bash
# Makes FOLDER: glibc 2.28 as a linker sees it (libraries with its symbols and nothing behind them, and the start of a program), and libstdc++
# for adapters (make_libstdcxx_stub.py).
# usage: make_glibc_stubs.sh PYTHON FOLDER [MACHINE COMPILER]
#
# PYTHON has the package ziglang, which knows the symbols of every glibc and writes these files when it links for one. It compiles and links
# nothing of ours.
set -euo pipefail

readonly GLIBC=2.28
readonly USAGE="usage: make_glibc_stubs.sh PYTHON FOLDER [MACHINE COMPILER]"
python=${1:?"$USAGE"}
folder=$(realpath -m "${2:?"$USAGE"}")
machine=${3:-$(uname -m)}
compiler=${4:-g++}
tools=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

fail() {
  echo "make_glibc_stubs.sh: $*" >&2
  exit 2
}

if [[ -e $folder/libstdc++.so.6 ]]; then exit 0; fi
case $machine in
  x86_64) loader=ld-linux-x86-64.so.2 ;;
  aarch64) loader=ld-linux-aarch64.so.1 ;;
  *) fail "there is no wheel for $machine: x86_64 and aarch64 have one" ;;
esac
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder-XXXXXX")
trap 'rm -rf "$work"' EXIT

echo 'int main(void) { return 0; }' >"$work/empty.c"
export ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache
"$python" -m ziglang cc -target "$machine-linux-gnu.$GLIBC" -o "$work/empty" "$work/empty.c" || fail "zig does not link for glibc $GLIBC"
mkdir "$work/stubs"
for file in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 libc_nonshared.a crt1.o; do
  found=$(find "$work/cache" -name "${file/%.so.*/.so*}" -o -name "$file" | head -1)
  [[ -n $found ]] || fail "zig made no $file; another release of ziglang may name it otherwise"
  cp "$found" "$work/stubs/$file"
done
echo "$loader" >"$work/stubs/loader"
"$python" "$tools/make_libstdcxx_stub.py" "$compiler" "$work/stubs" || fail "there is no stub of libstdc++"
chmod 755 "$work/stubs"
rm -rf "$folder"
mv "$work/stubs" "$folder"
