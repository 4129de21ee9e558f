# shellcheck shell=bash
# To be sourced: an apt whose lists, cache and list of sources are in a folder of the caller's; the system's stay as they are.

# Whom lines of sources.list trust.
# shellcheck disable=SC2034  # used by what sources this
readonly KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

# fail WORDS...: why the script that sources this cannot go on.
fail() {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

# private_apt FOLDER FORMAT CONFIGURATION TARGET...: exports APT_CONFIG, and fetches the lists, whose signatures apt checks. FORMAT is the
# line of sources.list for each of Debian's package lists on this system that have the properties TARGET.
private_apt() {
  local folder=$1 format=$2 configuration=$3
  shift 3
  apt-get indextargets --format "$format" 'Created-By: Packages' 'Origin: Debian' "$@" | sort -u >"$folder/sources.list"
  [[ -s $folder/sources.list ]] || fail "apt knows no Debian mirror: run apt-get update (as root) first"
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
  # root downloads itself: apt's own user has no way into most build folders.
  cat >"$folder/apt.conf" <<CONF
$configuration
Dir::Etc::SourceList "$folder/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$folder/lists";
Dir::Cache "$folder/cache";
APT::Sandbox::User "root";
CONF
  export APT_CONFIG=$folder/apt.conf
  apt-get update -qq
}
