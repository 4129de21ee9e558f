#!/usr/bin/env bash
# Fetches RE2's sources into FOLDER, out of Debian's source package, and makes its tables as Debian does.
# usage: fetch_re2.sh FOLDER
#
# Our libraries contain RE2, hidden: the RE2 of a captured program must not meet ours. Debian's libre2.a cannot be linked into a shared
# library. apt downloads the source package and checks its signature; it keeps its lists in a folder of this script's own, so the
# system's list of sources stays as it is.
set -euo pipefail

readonly VERSION=20220601+dfsg-1
readonly KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
readonly UNICODE=/usr/share/unicode
folder=$(realpath -m "${1:?"usage: fetch_re2.sh FOLDER"}")

fail() {
  echo "fetch_re2.sh: $*" >&2
  exit 2
}

if [[ $(cat "$folder/.debian-version" 2>/dev/null) == "$VERSION" ]]; then exit 0; fi
command -v apt-get >/dev/null ||
  fail "this is no Debian: unpack the sources of RE2 2022-06-01 and give their folder to CMake with -DTENSORTAP_RE2_SOURCE=FOLDER"
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder-XXXXXX")
trap 'rm -rf "$work"' EXIT

# The mirrors of this system, for source packages.
apt-get indextargets --format "deb-src [signed-by=$KEYS] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
  'Created-By: Packages' 'Origin: Debian' 'Component: main' | sort -u >"$work/sources.list"
[[ -s $work/sources.list ]] || fail "apt knows no Debian mirror: run apt-get update (as root) first"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/download" "$work/unpacked"
# root downloads itself: apt's own user has no way into most build folders.
cat >"$work/apt.conf" <<CONF
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
CONF
export APT_CONFIG=$work/apt.conf
apt-get update -qq
(cd "$work/download" && apt-get source -qq --download-only "re2=$VERSION" >/dev/null) ||
  fail "Debian's mirror has no source package re2 $VERSION (that of Debian 12)"

/usr/bin/python3 -m tarfile -e "$work"/download/re2_*.orig.tar.* "$work/unpacked"
source=$(echo "$work"/unpacked/re2-*)
cd "$source/re2"
perl make_perl_groups.pl >perl_groups.cc
sed -i "s|^_UNICODE_DIR = .*|_UNICODE_DIR = '$UNICODE'|" unicode.py  # Debian's patch; without it they come from the network
for table in groups casefold; do /usr/bin/python3 -B "make_unicode_$table.py" >"unicode_$table.cc"; done
cd /
echo "$VERSION" >"$source/.debian-version"
rm -rf "$folder"
mv "$source" "$folder"
