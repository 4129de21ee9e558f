# Debug builds link more than a hundred programs, each of which takes GNU ld 8 seconds with the sanitizers inside, and lld 1.5. What is shipped
# is linked by GNU ld.
find_program(tensortap_lld ld.lld PATHS /usr/lib/llvm-16/bin)
if(CMAKE_BUILD_TYPE STREQUAL "Debug" AND tensortap_lld)
  cmake_path(GET tensortap_lld PARENT_PATH tensortap_lld_folder)
  add_link_options(-fuse-ld=lld -B${tensortap_lld_folder})
endif()
