#!/usr/bin/env bash
# Unpacks Debian packages into FOLDER without installing them: of another release or for another machine than this one.
# usage: unpack_debian.sh FOLDER SUITE MACHINE PACKAGE...
#
# SUITE is such as trixie, MACHINE such as amd64. Packages that these need are not fetched. apt downloads them and checks their signatures,
# with lists and a list of sources of this script's own.
set -euo pipefail

readonly USAGE="usage: unpack_debian.sh FOLDER SUITE MACHINE PACKAGE..."
readonly KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
folder=$(realpath -m "${1:?"$USAGE"}")
suite=${2:?"$USAGE"}
machine=${3:?"$USAGE"}
shift 3

fail() {
  echo "unpack_debian.sh: $*" >&2
  exit 2
}

if [[ $(cat "$folder/.packages" 2>/dev/null) == "$suite $machine $*" ]]; then exit 0; fi
command -v apt-get >/dev/null || fail "this is no Debian: it takes apt to fetch $* of Debian's $suite"
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder-XXXXXX")
trap 'rm -rf "$work"' EXIT

apt-get indextargets --format "deb [arch=$machine signed-by=$KEYS] \$(REPO_URI) $suite main" 'Created-By: Packages' 'Origin: Debian' \
  'Label: Debian' | sort -u >"$work/sources.list"
[[ -s $work/sources.list ]] || fail "apt knows no Debian mirror: run apt-get update (as root) first"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/packages" "$work/unpacked"
# root downloads itself: apt's own user has no way into most build folders.
cat >"$work/apt.conf" <<CONF
APT::Architecture "$machine";
APT::Architectures "$machine";
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$work/lists";
Dir::State::Status "/dev/null";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
CONF
export APT_CONFIG=$work/apt.conf
apt-get update -qq
(cd "$work/packages" && apt-get download -qq "$@" >/dev/null) || fail "Debian's mirror lacks one of $* for $machine in $suite"
for package in "$work"/packages/*.deb; do dpkg-deb --extract "$package" "$work/unpacked"; done
echo "$suite $machine $*" >"$work/unpacked/.packages"
rm -rf "$folder"
mv "$work/unpacked" "$folder"
