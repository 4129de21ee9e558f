# One static library per folder of src/ that tools/layers.txt lists, linked to exactly the folders that its line allows; format/ and system/ have one for
# each plugin folder, and tensortap_<folder> is all of them. Sources are every .cc in the folder; x_test.cc belongs to the test program <folder>_test
# or <folder>_<plugin>_test.

add_library(tensortap_flags INTERFACE)
target_compile_definitions(tensortap_flags INTERFACE TENSORTAP_VERSION="${PROJECT_VERSION}")
target_compile_options(tensortap_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-qual -Wold-style-cast)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns about code that the optimiser made up inside std::string and std::optional.
  target_compile_options(tensortap_flags INTERFACE -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(TENSORTAP_WERROR)
  target_compile_options(tensortap_flags INTERFACE -Werror)
endif()
if(TENSORTAP_SANITIZE)
  add_compile_options(-fsanitize=${TENSORTAP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${TENSORTAP_SANITIZE})
  if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
    # A program in C would lack what the libraries need to check C++ objects.
    add_link_options($<$<LINK_LANGUAGE:C>:-fsanitize-link-c++-runtime> $<$<LINK_LANGUAGE:C>:-lstdc++>)
  endif()
endif()
if(TENSORTAP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # the coverage that guides libFuzzer
endif()
target_include_directories(tensortap_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_include_directories(tensortap_flags SYSTEM INTERFACE ${NLOHMANN_JSON_INCLUDE} ${PROTOZERO_INCLUDE} ${HIGHWAY_INCLUDE})

# What single folders need besides the folders below them.
set(tensortap_libraries_plan tensortap_re2)
set(tensortap_libraries_stats ${LIBMD_LIBRARY})
set(tensortap_libraries_report ${LIBMD_LIBRARY})
set(tensortap_libraries_tree ${LIBDEFLATE_LIBRARY})
set(tensortap_libraries_system ${LIBDEFLATE_LIBRARY})
set(tensortap_libraries_format ${LIBDEFLATE_LIBRARY} ${ZSTD_LIBRARY})
set(tensortap_libraries_capture Threads::Threads)
set(tensortap_libraries_serve Threads::Threads)
set(tensortap_plugin_modules format system)
set(tensortap_not_modules cli source portable)

# The page of the web view becomes a source of its own.
set(tensortap_page ${PROJECT_SOURCE_DIR}/web/dist)
set(tensortap_generated_serve ${PROJECT_BINARY_DIR}/page_files.cc)
add_custom_command(OUTPUT ${tensortap_generated_serve}
                   COMMAND ${CMAKE_COMMAND} -DOUTPUT=${tensortap_generated_serve} -DFOLDER=${tensortap_page} -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
                   DEPENDS ${tensortap_page}/index.html ${tensortap_page}/app.js ${tensortap_page}/app.css cmake/embed_files.cmake
                   VERBATIM)
set_source_files_properties(${tensortap_generated_serve} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # clang-tidy reads units that nothing has built
# The one source that includes the header of cpp-httplib, which is compiled without our warnings.
set_source_files_properties(src/serve/http_server.cc PROPERTIES COMPILE_OPTIONS "-isystem;${TENSORTAP_HTTPLIB_SOURCE}" SKIP_UNITY_BUILD_INCLUSION ON)
# Highway compiles one source of a unit for every instruction set; the other one with kernels is stats/block_kernels.cc.
set_source_files_properties(src/stats/sketch_kernels.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# What reads files outside of a guest: the command and the Python reader. They link tensortap_<folder>_checked, which has libstdc++'s assertions; what goes
# into a guest is compiled without, since an assertion that fails aborts the program. The folders of the second list are in both.
set(tensortap_offline_modules query graph read convert find compare replay serve report table ranks shards)
set(tensortap_checked_modules base tensor trace plan stats format layout tree system registry exec ${tensortap_offline_modules})
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # builds for tests alone have them everywhere
endif()

# tensortap_add_module(NAME SOURCES BELOW): its library, linked to those of the folders below it.
function(tensortap_add_module name sources below)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC tensortap_flags ${below})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE tensortap_flags ${below})
  endif()
endfunction()

# The same with libstdc++'s assertions, linked to the libraries that have them, too.
function(tensortap_add_checked_module name sources below)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    add_library(${name}_checked ALIAS ${name})
    return()
  endif()
  list(TRANSFORM below REPLACE "^(tensortap_.+)$" "\\1_checked")
  list(TRANSFORM below REPLACE "^tensortap_re2_checked$" "tensortap_re2")
  tensortap_add_module(${name}_checked "${sources}" "${below}")
  if(sources)
    target_compile_definitions(${name}_checked PUBLIC _GLIBCXX_ASSERTIONS)
  endif()
endfunction()

function(tensortap_sources variable folder recurse)
  file(${recurse} sources CONFIGURE_DEPENDS src/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# The libraries of the plugin folders of `module`; sets tensortap_plugins to their names.
function(tensortap_add_plugins module below)
  file(GLOB folders RELATIVE ${PROJECT_SOURCE_DIR}/src/${module} CONFIGURE_DEPENDS src/${module}/*)
  set(plugins "")
  foreach(folder IN LISTS folders)
    if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/src/${module}/${folder})
      continue()
    endif()
    tensortap_sources(sources ${module}/${folder} GLOB_RECURSE)
    set(name tensortap_${module}_${folder})
    file(STRINGS tools/layers.txt neighbours REGEX "^${module}/${folder}:")
    string(REGEX REPLACE "^[^:]*:" "" neighbours "${neighbours}")
    string(REGEX MATCHALL "[a-z_]+/[a-z_]+" neighbours "${neighbours}")
    list(TRANSFORM neighbours REPLACE "(.+)/(.+)" "tensortap_\\1_\\2")
    tensortap_add_module(${name} "${sources}" "${neighbours};${below}")
    tensortap_add_checked_module(${name} "${sources}" "${neighbours};${below}")
    list(APPEND plugins ${name})
  endforeach()
  set(tensortap_plugins ${plugins} PARENT_SCOPE)
endfunction()

function(tensortap_add_modules)
  file(STRINGS tools/layers.txt lines REGEX "^[a-z]+:")
  set(modules "")
  set(libraries "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([a-z]+):(.*)$" _ "${line}")
    set(module ${CMAKE_MATCH_1})
    string(REGEX MATCHALL "[a-z]+" below "${CMAKE_MATCH_2}")
    if(module IN_LIST tensortap_not_modules)
      continue()
    endif()
    list(TRANSFORM below PREPEND tensortap_)
    list(APPEND below ${tensortap_libraries_${module}})
    set(sources "")
    if(module IN_LIST tensortap_plugin_modules)
      tensortap_add_plugins(${module} "${below}")
      list(APPEND libraries ${tensortap_plugins})
      set(below ${tensortap_plugins})
    else()
      tensortap_sources(sources ${module} GLOB_RECURSE)
      list(APPEND sources ${tensortap_generated_${module}})
      list(APPEND libraries tensortap_${module})
    endif()
    tensortap_add_module(tensortap_${module} "${sources}" "${below}")
    if(module IN_LIST tensortap_checked_modules)
      tensortap_add_checked_module(tensortap_${module} "${sources}" "${below}")
    endif()
    if(module IN_LIST tensortap_offline_modules)
      set_target_properties(tensortap_${module} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    if(TENSORTAP_SANITIZE AND sources AND module MATCHES "^(base|tensor|stats|graph|find|report)$")
      target_compile_options(tensortap_${module} PRIVATE -O1)  # what tests spend their time in: JSON, kernels, large graphs, long runs
    endif()
    list(APPEND modules ${module})
  endforeach()
  set(tensortap_modules ${modules} PARENT_SCOPE)
  set(tensortap_module_libraries ${libraries} PARENT_SCOPE)
endfunction()

# tensortap_add_test(NAME SOURCES... [LIBRARIES...]): a GoogleTest program, one ctest entry. TENSORTAP_TESTDATA is tests/.
function(tensortap_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tensortap_flags ${arg_LIBRARIES} GTest::gtest_main GTest::gmock rapidcheck rapidcheck_gtest)
  target_compile_definitions(${name} PRIVATE TENSORTAP_TESTDATA="${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # what is tested is optimised; its tests need not be
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# A test program for each library of a folder.
function(tensortap_add_unit_tests)
  foreach(library IN LISTS tensortap_module_libraries)
    string(REPLACE "tensortap_" "" name ${library})
    string(REGEX REPLACE "^(format|system)_" "\\1/" folder ${name})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/${folder}/*_test.cc)
    if(NOT sources)
      continue()
    endif()
    if(name IN_LIST tensortap_offline_modules)
      set(library ${library}_checked)
    endif()
    tensortap_add_test(${name}_test SOURCES ${sources} LIBRARIES ${library})
    if(TENSORTAP_SANITIZE AND name STREQUAL "report")
      target_compile_options(report_test PRIVATE -O1)  # its texts are megabytes, and the linker takes the first copy of the JSON parser
    endif()
  endforeach()
endfunction()
