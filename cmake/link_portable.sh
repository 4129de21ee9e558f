#!/usr/bin/env bash
# Runs one link of a portable build: the compiler's own command, with other system libraries (cmake/portable.cmake).
# usage: link_portable.sh KIND STUBS OBJECT COMPILER ARGUMENT...
# shellcheck disable=SC2054  # commas belong to the linker
set -euo pipefail

kind=$1 stubs=$2 before=$3
shift 3
of_compiler() { "$1" "-print-file-name=$2"; }
libgcc_s=$(of_compiler "$1" libgcc_s.so.1)
loader=$(of_compiler "$1" "$(cat "$stubs/loader")")

# Debug information is that of zig's parts of glibc, and names the folder that they were compiled in.
common=(-nodefaultlibs -Wl,--gc-sections -Wl,--strip-debug "-L$stubs")
c_library=(-Wl,--as-needed -l:libm.so.6 -l:libdl.so.2 -l:libpthread.so.0 -Wl,--no-as-needed -l:libc.so.6 "$stubs/libc_nonshared.a")
all=(-Wl,--start-group "$before" "$(of_compiler "$1" libstdc++.a)" "${c_library[@]}" -Wl,--as-needed "$libgcc_s"
  "$(of_compiler "$1" libgcc.a)" "$loader" -Wl,--end-group)
case $kind in
  # libstdc++ is that of the program's torch, as far as the stub has it; torch's own functions come from the process.
  adapter) exec "$@" "${common[@]}" "$stubs/libstdc++.so.6" "${all[@]}" ;;
  library) exec "$@" "${common[@]}" "${all[@]}" -Wl,-z,defs ;;
  module) exec "$@" "${common[@]}" "${all[@]}" ;;
  # Not the loader: that of another C library, which preloads it as well, has another name.
  stub) exec "$@" "${common[@]}" -Wl,--as-needed -l:libdl.so.2 -Wl,--no-as-needed -l:libc.so.6 ;;
  program)
    # The start of a program is the old glibc's, too: one of 2.34 or newer leaves the calling of constructors to a young libc.
    compiler=$1
    shift
    exec "$compiler" -pie -nostartfiles "$stubs/crt1.o" "$(of_compiler "$compiler" crti.o)" "$(of_compiler "$compiler" crtbeginS.o)" "$@" \
      "${common[@]}" "${all[@]}" -Wl,--allow-shlib-undefined "$(of_compiler "$compiler" crtendS.o)" "$(of_compiler "$compiler" crtn.o)"
    ;;
  *) echo "link_portable.sh: unknown kind $kind" >&2 && exit 2 ;;
esac
