set(works_on "it runs on Linux with glibc, and has a wheel that needs no compiler for x86_64 and aarch64")
string(APPEND works_on " (glibc 2.28, Python 3.11 and newer)")

# tensortap_check_c_library(ROOT): refuses a system of musl, that below ROOT, "" for this one. It asks no compiler: such systems rarely have
# one.
function(tensortap_check_c_library root)
  file(GLOB musl ${root}/lib/ld-musl-*.so.1)
  file(GLOB glibc ${root}/lib/ld-linux*.so.* ${root}/lib64/ld-linux*.so.* ${root}/lib/ld64.so.* ${root}/lib64/ld64.so.*)
  if(musl AND NOT glibc)
    list(GET musl 0 loader)
    message(FATAL_ERROR "tensortap: the C library of this system is musl (${loader}); ${works_on}.")
  endif()
endfunction()

# tensortap_check_system(SYSTEM MACHINE TARGET): refuses what tensortap is not for. TARGET is the compiler's word for what it compiles for.
function(tensortap_check_system system machine target)
  if(NOT system STREQUAL "Linux")
    message(FATAL_ERROR "tensortap: this is ${system}; ${works_on}.")
  elseif(target MATCHES "musl")
    message(FATAL_ERROR "tensortap: the C library of ${target} is musl; ${works_on}.")
  elseif(NOT machine MATCHES "^(x86_64|aarch64)$")
    message(WARNING "tensortap: this is ${machine}, which is untested; ${works_on}.")
  endif()
endfunction()
