# TENSORTAP_PORTABLE: what is installed runs on any Linux since glibc 2.28. The objects are the same as otherwise; only the link differs:
# against that glibc's symbols (tools/make_glibc_stubs.sh), with libstdc++ inside, hidden. libgcc_s stays shared: a static one needs glibc 2.35.
option(TENSORTAP_PORTABLE "Link what is installed against glibc 2.28, with libstdc++ inside" OFF)
set(TENSORTAP_GLIBC_STUBS ${PROJECT_SOURCE_DIR}/build/glibc-2.28-${CMAKE_SYSTEM_PROCESSOR} CACHE PATH "What tools/make_glibc_stubs.sh made")

if(TENSORTAP_PORTABLE)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR TENSORTAP_SANITIZE)
    message(FATAL_ERROR "tensortap: a portable build needs GCC and no sanitizer.")
  endif()
  if(NOT EXISTS ${TENSORTAP_GLIBC_STUBS}/libc.so.6)
    message(FATAL_ERROR "tensortap: no glibc stubs in ${TENSORTAP_GLIBC_STUBS}. Run `./dev wheel`, or configure without -DTENSORTAP_PORTABLE=ON.")
  endif()
  add_library(tensortap_glibc_before OBJECT src/capture/portable/glibc_before.c)
  set_target_properties(tensortap_glibc_before PROPERTIES UNITY_BUILD OFF)
  target_compile_options(tensortap_glibc_before PRIVATE -Wall -Wextra)
endif()

# tensortap_link_portably(TARGET KIND): KIND is library, module (the names of Python stay open), program or stub (the C library alone).
function(tensortap_link_portably target kind)
  if(NOT TENSORTAP_PORTABLE)
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/cmake/link_portable.sh)
  set(before ${PROJECT_BINARY_DIR}/CMakeFiles/tensortap_glibc_before.dir/src/capture/portable/glibc_before.c.o)
  set_target_properties(${target} PROPERTIES RULE_LAUNCH_LINK "${script} ${kind} ${TENSORTAP_GLIBC_STUBS} ${before}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script} ${TENSORTAP_GLIBC_STUBS}/libc.so.6)
  add_dependencies(${target} tensortap_glibc_before)
endfunction()
