# Released packages only; docs/dependencies.md says what each is for. Debian 12 names are given where one is missing.
find_package(Threads REQUIRED)

function(tensortap_require_header variable header package)
  find_path(${variable} ${header})
  if(NOT ${variable})
    message(FATAL_ERROR "tensortap: ${header} not found. Install the package ${package}, or run ./dev setup.")
  endif()
endfunction()

function(tensortap_require_library variable name package)
  find_library(${variable} NAMES ${name})
  if(NOT ${variable})
    message(FATAL_ERROR "tensortap: lib${name} not found. Install the package ${package}, or run ./dev setup.")
  endif()
endfunction()

tensortap_require_header(NLOHMANN_JSON_INCLUDE nlohmann/json.hpp nlohmann-json3-dev)
tensortap_require_header(PROTOZERO_INCLUDE protozero/pbf_reader.hpp libprotozero-dev)
tensortap_require_header(HIGHWAY_INCLUDE hwy/highway.h libhwy-dev)
tensortap_require_header(XXHASH_INCLUDE xxhash.h libxxhash-dev)
tensortap_require_header(LIBDEFLATE_INCLUDE libdeflate.h libdeflate-dev)
tensortap_require_library(LIBDEFLATE_LIBRARY libdeflate.a libdeflate-dev)
tensortap_require_header(LIBMD_INCLUDE md5.h libmd-dev)
tensortap_require_library(LIBMD_LIBRARY libmd.a libmd-dev)
tensortap_require_header(ZSTD_INCLUDE zstd.h libzstd-dev)
tensortap_require_library(ZSTD_LIBRARY libzstd.a libzstd-dev)
tensortap_require_header(CLI11_INCLUDE CLI/CLI.hpp libcli11-dev)
tensortap_require_header(FMT_INCLUDE fmt/format.h libfmt-dev)

# RE2 is compiled from its sources: no released static library of it can go into a shared library of ours.
set(TENSORTAP_RE2_SOURCE ${PROJECT_SOURCE_DIR}/build/re2 CACHE PATH "Sources of RE2 2022-06-01 with its tables")
if(NOT EXISTS ${TENSORTAP_RE2_SOURCE}/re2/unicode_groups.cc)
  message(FATAL_ERROR "tensortap: RE2's sources are not in ${TENSORTAP_RE2_SOURCE}. Run `tools/fetch_sources.sh build` (or ./dev setup), "
                      "or give another folder with -DTENSORTAP_RE2_SOURCE=FOLDER.")
endif()
file(REAL_PATH ${TENSORTAP_RE2_SOURCE} re2_folder)
set(re2_sources bitstate compile dfa nfa onepass parse perl_groups prog re2 regexp simplify stringpiece tostring unicode_casefold unicode_groups)
list(TRANSFORM re2_sources PREPEND ${re2_folder}/re2/)
list(APPEND re2_sources ${re2_folder}/util/rune ${re2_folder}/util/strutil)
list(TRANSFORM re2_sources APPEND .cc)
add_library(tensortap_re2 STATIC ${re2_sources})
set_target_properties(tensortap_re2 PROPERTIES UNITY_BUILD OFF EXPORT_COMPILE_COMMANDS OFF)
# It names its sources in messages; where they are on this machine is nobody's business. ccache may shorten their paths.
file(RELATIVE_PATH re2_from_build ${PROJECT_BINARY_DIR} ${re2_folder})
target_compile_options(tensortap_re2 PRIVATE -w -ffile-prefix-map=${re2_folder}=re2 -ffile-prefix-map=${re2_from_build}=re2)
target_include_directories(tensortap_re2 SYSTEM PUBLIC ${re2_folder})
target_link_libraries(tensortap_re2 PUBLIC Threads::Threads)

# The header of cpp-httplib is compiled into the command alone, in one translation unit (src/analysis/serve/http_server.cc).
set(TENSORTAP_HTTPLIB_SOURCE ${PROJECT_SOURCE_DIR}/build/httplib CACHE PATH "The folder of cpp-httplib 0.11.4's httplib.h")
if(NOT EXISTS ${TENSORTAP_HTTPLIB_SOURCE}/httplib.h)
  message(FATAL_ERROR "tensortap: cpp-httplib's header is not in ${TENSORTAP_HTTPLIB_SOURCE}. Run `tools/fetch_sources.sh build` (or ./dev setup), "
                      "or give another folder with -DTENSORTAP_HTTPLIB_SOURCE=FOLDER.")
endif()

if(TENSORTAP_TESTS OR TENSORTAP_FUZZ)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
if(TENSORTAP_BENCH)
  find_package(benchmark REQUIRED)
endif()
