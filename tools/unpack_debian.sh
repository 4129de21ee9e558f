#!/usr/bin/env bash
# Unpacks Debian packages into FOLDER without installing them: of another release or for another machine than this one.
# usage: unpack_debian.sh FOLDER SUITE MACHINE PACKAGE...
#
# SUITE is such as trixie, MACHINE such as amd64. Packages that these need are not fetched. apt downloads them and checks their signatures,
# with lists and a list of sources of this script's own.
set -euo pipefail

readonly USAGE="usage: unpack_debian.sh FOLDER SUITE MACHINE PACKAGE..."
folder=$(realpath -m "${1:?"$USAGE"}")
suite=${2:?"$USAGE"}
machine=${3:?"$USAGE"}
shift 3

# shellcheck source=tools/private_apt.sh
source "$(dirname "${BASH_SOURCE[0]}")/private_apt.sh"

if [[ $(cat "$folder/.packages" 2>/dev/null) == "$suite $machine $*" ]]; then exit 0; fi
command -v apt-get >/dev/null || fail "this is no Debian: it takes apt to fetch $* of Debian's $suite"
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder-XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/packages" "$work/unpacked"
private_apt "$work" "deb [arch=$machine signed-by=$KEYS] \$(REPO_URI) $suite main" "APT::Architecture \"$machine\";
APT::Architectures \"$machine\";
Dir::State::Status \"/dev/null\";" 'Label: Debian'
(cd "$work/packages" && apt-get download -qq "$@" >/dev/null) || fail "Debian's mirror lacks one of $* for $machine in $suite"
for package in "$work"/packages/*.deb; do dpkg-deb --extract "$package" "$work/unpacked"; done
echo "$suite $machine $*" >"$work/unpacked/.packages"
rm -rf "$folder"
mv "$work/unpacked" "$folder"
