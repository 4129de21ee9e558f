# Cross-compiling for aarch64 on Debian. TENSORTAP_AARCH64_ROOT holds what tools/unpack_debian.sh unpacked: headers and static libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(TENSORTAP_AARCH64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root CACHE PATH "Debian packages for arm64, unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENSORTAP_AARCH64_ROOT)
set(CMAKE_FIND_ROOT_PATH ${TENSORTAP_AARCH64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
# Interpreter and nanobind are those of this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE NEVER)
