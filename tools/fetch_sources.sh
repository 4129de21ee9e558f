#!/usr/bin/env bash
# Fetches what is compiled from its sources into FOLDER, out of Debian's source packages: re2 into FOLDER/re2, with its tables made as
# Debian makes them, and the one header of cpp-httplib, with Debian's patches, into FOLDER/httplib.
# usage: fetch_sources.sh FOLDER [re2|httplib]...
#
# Our libraries contain RE2, hidden: the RE2 of a captured program must not meet ours. Debian's libre2.a cannot be linked into a shared
# library. Debian's package of cpp-httplib is a shared library that brings OpenSSL and Brotli. apt downloads the source packages and checks
# their signatures; it keeps its lists in a folder of this script's own, so the system's list of sources stays as it is.
set -euo pipefail

readonly RE2_VERSION=20220601+dfsg-1
readonly HTTPLIB_VERSION=0.11.4+ds-1+deb12u1
readonly UNICODE=/usr/share/unicode

# shellcheck source=tools/private_apt.sh
source "$(dirname "${BASH_SOURCE[0]}")/private_apt.sh"

folder=$(realpath -m "${1:?"usage: fetch_sources.sh FOLDER [re2|httplib]..."}")
shift
[[ $# -gt 0 ]] || set -- re2 httplib
work=
trap '[[ -z $work ]] || rm -rf "$work"' EXIT

# prepare_apt: a folder to work in, and an apt that knows the source packages of this system's mirrors.
prepare_apt() {
  [[ -z $work ]] || return 0
  command -v apt-get >/dev/null ||
    fail "this is no Debian: docs/dependencies.md says which sources to unpack, and how to give their folders to CMake"
  mkdir -p "$folder"
  work=$(mktemp -d "$folder/sources-XXXXXX")
  private_apt "$work" "deb-src [signed-by=$KEYS] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" "" 'Component: main'
}

# unpack PACKAGE VERSION: its original sources into $work/PACKAGE, Debian's own folder beside it.
unpack() {
  prepare_apt
  mkdir -p "$work/$1/download" "$work/$1/original" "$work/$1/packaging"
  (cd "$work/$1/download" && apt-get source -qq --download-only "$1=$2" >/dev/null) ||
    fail "Debian's mirror has no source package $1 $2 (that of Debian 12)"
  /usr/bin/python3 -m tarfile -e "$work/$1"/download/*.orig.tar.* "$work/$1/original"
  /usr/bin/python3 -m tarfile -e "$work/$1"/download/*.debian.tar.* "$work/$1/packaging"
}

# put NAME VERSION SOURCE: what is done takes its place in one step.
put() {
  echo "$2" >"$3/.debian-version"
  rm -rf "${folder:?}/$1"
  mv "$3" "$folder/$1"
}

fetch_re2() {
  unpack re2 "$RE2_VERSION"
  local source
  source=$(echo "$work"/re2/original/re2-*)
  cd "$source/re2"
  perl make_perl_groups.pl >perl_groups.cc
  sed -i "s|^_UNICODE_DIR = .*|_UNICODE_DIR = '$UNICODE'|" unicode.py  # Debian's patch; without it they come from the network
  local table
  for table in groups casefold; do /usr/bin/python3 -B "make_unicode_$table.py" >"unicode_$table.cc"; done
  cd /
  put re2 "$RE2_VERSION" "$source"
}

fetch_httplib() {
  unpack cpp-httplib "$HTTPLIB_VERSION"
  local source=$work/cpp-httplib/result patches=$work/cpp-httplib/packaging/debian/patches name
  mkdir "$source"
  cp "$work"/cpp-httplib/original/*/{httplib.h,LICENSE} "$source"
  # The patches that mend the header are security updates; those of other files are Debian's own matter.
  while read -r name; do
    if grep -q '^+++ [^/]*/httplib\.h' "$patches/$name"; then
      echo "$name"
    fi
  done < <(grep -v '^#' "$patches/series") >"$work/wanted"
  while read -r name; do
    filter_header "$patches/$name" | patch --quiet --forward --fuzz=0 "$source/httplib.h" || fail "Debian's $name does not fit httplib.h"
  done <"$work/wanted"
  put httplib "$HTTPLIB_VERSION" "$source"
}

# filter_header PATCH: the part of it that is about httplib.h.
filter_header() { awk '/^--- /{held=$0; inside=0; next} /^\+\+\+ /{inside=($2 ~ /^[^\/]*\/httplib\.h$/); if (inside) print held} /^diff |^Index: /{inside=0} inside' "$1"; }

for name; do
  case $name in
    re2) version=$RE2_VERSION ;;
    httplib) version=$HTTPLIB_VERSION ;;
    *) fail "$name: re2 and httplib can be fetched" ;;
  esac
  if [[ $(cat "$folder/$name/.debian-version" 2>/dev/null) != "$version" ]]; then "fetch_$name"; fi
done
