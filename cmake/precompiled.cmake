# Headers that nearly every source includes, parsed once for each set of flags instead of once for each source. For clang alone, which compiles
# the builds with sanitizers: there it is a third of the work. The release build shows which sources lack an include of their own.

set(tensortap_precompiles OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND TENSORTAP_SANITIZE)
  set(tensortap_precompiles ON)
endif()

set(tensortap_usual_headers <algorithm> <array> <atomic> <bit> <chrono> <cmath> <condition_variable> <cstddef> <cstdint> <cstring> <deque> <filesystem>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <thread> <tuple> <unordered_map> <unordered_set>
    <utility> <variant> <vector> ${PROJECT_SOURCE_DIR}/src/core/base/json.h)

# tensortap_precompile(TARGET KIND): KIND is what the target's flags are: `library`, `optimised` (a library with -O1) or `test` (a program).
function(tensortap_precompile target kind)
  if(tensortap_precompiles)
    target_precompile_headers(${target} REUSE_FROM tensortap_precompiled_${kind})
  endif()
endfunction()

function(tensortap_add_precompiled)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "int main() { return 0; }\n")
  foreach(kind library optimised)
    add_library(tensortap_precompiled_${kind} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
  endforeach()
  target_compile_options(tensortap_precompiled_optimised PRIVATE -O1)
  add_executable(tensortap_precompiled_test ${PROJECT_BINARY_DIR}/precompiled.cc)
  target_link_libraries(tensortap_precompiled_test PRIVATE GTest::gtest GTest::gmock)
  foreach(kind library optimised test)
    target_link_libraries(tensortap_precompiled_${kind} PRIVATE tensortap_flags)
    target_precompile_headers(tensortap_precompiled_${kind} PRIVATE ${tensortap_usual_headers})
    set_target_properties(tensortap_precompiled_${kind} PROPERTIES EXCLUDE_FROM_ALL ON UNITY_BUILD OFF)
  endforeach()
  target_precompile_headers(tensortap_precompiled_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endfunction()
if(tensortap_precompiles)
  tensortap_add_precompiled()
endif()
