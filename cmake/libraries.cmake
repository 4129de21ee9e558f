# The shared libraries. They export the C functions of include/tensortap/ and nothing else (cmake/exports.map), but for the name by which another system
# looks for a function of ours (EXPORTS); tools/check_symbols.py checks.

function(tensortap_shared_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPORTS" "SOURCES;LIBRARIES")
  if(NOT arg_EXPORTS)
    set(arg_EXPORTS exports.map)
  endif()
  set(exports ${PROJECT_SOURCE_DIR}/cmake/${arg_EXPORTS})
  add_library(${name} SHARED ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tensortap_flags ${arg_LIBRARIES})
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
  tensortap_link_portably(${name} library)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${exports})
endfunction()

file(GLOB_RECURSE api_sources CONFIGURE_DEPENDS src/capture/api/*.cc)
list(FILTER api_sources EXCLUDE REGEX "_test\\.cc$")
if(api_sources)
  # The C entries must be in the library whether or not anything in it calls them.
  tensortap_shared_library(tensortap_capture_library SOURCES ${api_sources} LIBRARIES tensortap_registry tensortap_session)
  set_target_properties(tensortap_capture_library PROPERTIES OUTPUT_NAME tensortap_capture)
endif()

# What tools/layers.txt lets the sources stand on.
set(tensortap_below_sources tensortap_base tensortap_tensor tensortap_format tensortap_exec tensortap_python)

# tensortap_inside_of_source(NAME SOURCE...): all of a source but its entries, as a static library, which its tests link, too.
function(tensortap_inside_of_source name)
  add_library(${name} STATIC ${ARGN})
  tensortap_precompile(${name} library)
  target_link_libraries(${name} PUBLIC tensortap_flags ${tensortap_below_sources} Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

file(GLOB_RECURSE onnxruntime_sources CONFIGURE_DEPENDS src/capture/source/onnxruntime/*.cc)
list(FILTER onnxruntime_sources EXCLUDE REGEX "_test\\.cc$|/(exec_|model_)?entry\\.cc$")
if(onnxruntime_sources)
  tensortap_inside_of_source(tensortap_source ${onnxruntime_sources})
  if(TARGET tensortap_capture_library)
    tensortap_shared_library(tensortap_onnxruntime
      SOURCES src/capture/source/onnxruntime/run/entry.cc src/capture/source/onnxruntime/program/exec_entry.cc src/capture/source/onnxruntime/run/model_entry.cc
      LIBRARIES tensortap_source tensortap_capture_library EXPORTS exports_onnxruntime.map)
  endif()
endif()

# The AscendCL interface. Its objects are compiled once, for the library and for its tests; every function of include/acl/ is exported.
file(GLOB acl_sources CONFIGURE_DEPENDS src/capture/source/acl/*.cc)
list(FILTER acl_sources EXCLUDE REGEX "_test\\.cc$")
if(acl_sources AND TARGET tensortap_onnxruntime)
  add_library(tensortap_acl_objects OBJECT ${acl_sources})
  tensortap_precompile(tensortap_acl_objects library)
  target_link_libraries(tensortap_acl_objects PUBLIC tensortap_flags ${tensortap_below_sources} tensortap_onnxruntime tensortap_capture_library Threads::Threads)
  # Programs give any number where the interface has an enumeration.
  target_compile_options(tensortap_acl_objects PRIVATE -fvisibility=hidden -fno-sanitize=enum)
  tensortap_shared_library(tensortap_acl EXPORTS exports_acl.map SOURCES $<TARGET_OBJECTS:tensortap_acl_objects>
    LIBRARIES ${tensortap_below_sources} tensortap_onnxruntime tensortap_capture_library Threads::Threads)
endif()

# What is preloaded into programs over ATB. probe.cc has the names that they look for, once in each string ABI; the rest is compiled once.
file(GLOB atb_sources CONFIGURE_DEPENDS src/capture/source/atb/*.cc)
list(FILTER atb_sources EXCLUDE REGEX "_test\\.cc$|/probe\\.cc$")
if(atb_sources AND TARGET tensortap_capture_library)
  add_library(tensortap_atb_objects OBJECT ${atb_sources})
  set_target_properties(tensortap_atb_objects PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(tensortap_atb_objects PUBLIC tensortap_flags ${tensortap_below_sources} tensortap_capture_library Threads::Threads)
  foreach(abi 1 0)
    if(abi EQUAL 1)
      set(name tensortap_atb)
    else()
      set(name tensortap_atb_abi0)
    endif()
    add_library(${name}_probe OBJECT src/capture/source/atb/probe.cc)
    target_link_libraries(${name}_probe PUBLIC tensortap_flags)
    target_compile_definitions(${name}_probe PRIVATE _GLIBCXX_USE_CXX11_ABI=${abi})
    tensortap_shared_library(${name} EXPORTS exports_atb.map SOURCES $<TARGET_OBJECTS:${name}_probe> $<TARGET_OBJECTS:tensortap_atb_objects>
      LIBRARIES ${tensortap_below_sources} tensortap_capture_library Threads::Threads)
  endforeach()
endif()

# The part of the PyTorch source that knows no torch version. The adapters (src/capture/source/pytorch/adapter) are compiled against the headers of a
# torch release, by `tensortap build-adapter`.
file(GLOB_RECURSE pytorch_sources CONFIGURE_DEPENDS src/capture/source/pytorch/*.cc)
list(FILTER pytorch_sources EXCLUDE REGEX "_test\\.cc$|/(python_)?entry\\.cc$|/adapter/")
if(pytorch_sources)
  # The compiler of a device's driver gets the kernel as a text.
  set(kernel_folder ${PROJECT_SOURCE_DIR}/src/capture/source/pytorch/device)
  set(kernel_text ${PROJECT_BINARY_DIR}/kernel_text.cc)
  add_custom_command(OUTPUT ${kernel_text}
                     COMMAND ${CMAKE_COMMAND} -DOUTPUT=${kernel_text} -DFOLDER=${kernel_folder} -P ${PROJECT_SOURCE_DIR}/cmake/embed_kernel.cmake
                     DEPENDS ${kernel_folder}/kernel_code.h ${kernel_folder}/kernel_elements.h ${kernel_folder}/kernel_sums.h cmake/embed_kernel.cmake
                     VERBATIM)
  set_source_files_properties(${kernel_text} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # clang-tidy reads units that nothing has built
  tensortap_inside_of_source(tensortap_pytorch_source ${pytorch_sources} ${kernel_text})
  if(TENSORTAP_UNIT_TESTS)
    # Who tests a part of it takes that part's objects alone.
    set_target_properties(tensortap_pytorch_source PROPERTIES UNITY_BUILD OFF)
  endif()
  tensortap_shared_library(tensortap_pytorch SOURCES src/capture/source/pytorch/entry/entry.cc src/capture/source/pytorch/entry/python_entry.cc
    LIBRARIES tensortap_pytorch_source tensortap_capture_library)
endif()

# The ggml source: it finds out how a copy of ggml stores its tensors when the program has loaded that copy.
file(GLOB ggml_sources CONFIGURE_DEPENDS src/capture/source/ggml/*.cc)
list(FILTER ggml_sources EXCLUDE REGEX "_test\\.cc$|/entry\\.cc$")
if(ggml_sources)
  tensortap_inside_of_source(tensortap_ggml_source ${ggml_sources})
  tensortap_shared_library(tensortap_ggml SOURCES src/capture/source/ggml/entry.cc LIBRARIES tensortap_ggml_source tensortap_capture_library)
endif()

# What `tensortap exec` preloads: needs nothing but the C library, for every process carries it.
if(EXISTS ${PROJECT_SOURCE_DIR}/src/capture/source/preload/stub.c)
  add_library(tensortap_preload SHARED src/capture/source/preload/stub.c src/capture/source/preload/loading.c
    src/capture/source/preload/ggml_calls.c src/capture/source/preload/symbol_search.c)
  target_include_directories(tensortap_preload PRIVATE ${tensortap_include_folders} ${PROJECT_SOURCE_DIR}/include)
  # Fortified functions are glibc's alone, and another C library's loader takes the stub as well.
  target_compile_options(tensortap_preload PRIVATE -Wall -Wextra -Wshadow -O2 -fno-sanitize=all -fno-stack-protector -U_FORTIFY_SOURCE)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    # Otherwise libgcc's atomics come in, with code that runs when the library is loaded.
    target_compile_options(tensortap_preload PRIVATE -mno-outline-atomics)
  endif()
  target_link_options(tensortap_preload PRIVATE -nostartfiles -fno-sanitize=all)
  target_link_libraries(tensortap_preload PRIVATE ${CMAKE_DL_LIBS})
  tensortap_link_portably(tensortap_preload stub)
  # The path by which it is preloaded leads through this folder; its README says why.
  file(COPY src/capture/source/preload/before_libasan.so DESTINATION ${PROJECT_BINARY_DIR})
endif()

# What `tensortap build-adapter` compiles, where the installed package has it, relative to the libraries.
set(adapter_sources ${PROJECT_BINARY_DIR}/share/tensortap/adapter)
file(MAKE_DIRECTORY ${adapter_sources}/source)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/capture/source/pytorch ${adapter_sources}/source/pytorch SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/tensortap ${adapter_sources}/tensortap SYMBOLIC)

# For the tests: the adapter of the torch that this interpreter has, in the folder where the package has its adapters.
set(TENSORTAP_ADAPTER_PYTHON "" CACHE FILEPATH "Python whose torch gets its adapter with the build; empty: none is built")
function(tensortap_add_adapter)
  if(NOT TENSORTAP_ADAPTER_PYTHON)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS src/capture/source/pytorch/adapter/*.cc src/capture/source/pytorch/adapter/*.h)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/adapters/built
    COMMAND $<TARGET_FILE:tensortap> build-adapter --quiet --python ${TENSORTAP_ADAPTER_PYTHON} --out ${PROJECT_BINARY_DIR}/adapters
    COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/adapters/built
    DEPENDS ${sources} include/tensortap/asking.h include/tensortap/capture.h
    COMMENT "Building the adapter for the torch of ${TENSORTAP_ADAPTER_PYTHON}")
  add_custom_target(tensortap_adapter ALL DEPENDS ${PROJECT_BINARY_DIR}/adapters/built)
  add_dependencies(tensortap_adapter tensortap)
endfunction()

# A library that stands for another in tests: tensortap_add_fake(NAME SOURCE DEFINITIONS...).
function(tensortap_add_fake name source)
  add_library(${name} MODULE tests/${source})
  target_include_directories(${name} PRIVATE ${tensortap_include_folders} include)
  target_compile_definitions(${name} PRIVATE ${ARGN})
  target_compile_options(${name} PRIVATE -fno-sanitize=all -fvisibility=default)
  target_link_options(${name} PRIVATE -fno-sanitize=all)
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fakes)
  add_dependencies(pytorch_source_test ${name})
endfunction()

function(tensortap_add_pytorch_source_test)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/capture/source/pytorch/*_test.cc)
  if(NOT sources OR NOT TARGET tensortap_pytorch_source)
    return()
  endif()
  tensortap_add_test(pytorch_source_test SOURCES ${sources} LIBRARIES tensortap_pytorch_source)
  target_compile_definitions(pytorch_source_test PRIVATE TENSORTAP_FAKES="${PROJECT_BINARY_DIR}/fakes")
  target_include_directories(pytorch_source_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  tensortap_add_fake(fake_torch fake_torch.c)
  target_link_options(fake_torch PRIVATE -Wl,--build-id=0x00112233445566778899aabbccddeeff)
  tensortap_add_fake(fake_torch_old fake_torch.c FAKE_ABI_VERSION=0 FAKE_STRING_ABI=0)
  target_link_options(fake_torch_old PRIVATE -Wl,--build-id=none)
  tensortap_add_fake(fake_adapter fake_adapter.c)
  tensortap_add_fake(fake_adapter_interface fake_adapter.c FAKE_INTERFACE=999)
  tensortap_add_fake(fake_adapter_release fake_adapter.c "FAKE_RELEASE=\"2.12.1\"")
  tensortap_add_fake(fake_adapter_unwilling fake_adapter.c FAKE_RESULT=1)
endfunction()

function(tensortap_add_acl_source_test)
  file(GLOB sources CONFIGURE_DEPENDS src/capture/source/acl/*_test.cc)
  if(sources AND TARGET tensortap_acl_objects)
    tensortap_add_test(acl_source_test SOURCES ${sources} $<TARGET_OBJECTS:tensortap_acl_objects>
      LIBRARIES ${tensortap_below_sources} tensortap_onnxruntime tensortap_capture_library)
    target_include_directories(acl_source_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  endif()
endfunction()

function(tensortap_add_ggml_source_test)
  file(GLOB sources CONFIGURE_DEPENDS src/capture/source/ggml/*_test.cc)
  if(sources AND TARGET tensortap_ggml_source)
    tensortap_add_test(ggml_source_test SOURCES ${sources} LIBRARIES tensortap_ggml_source tensortap_capture_library)
  endif()
endfunction()

# Unit tests of the source bring the other side of capture.h themselves (tests/fake_capture.h).
function(tensortap_add_source_test)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/capture/source/onnxruntime/*_test.cc)
  if(sources)
    tensortap_add_test(source_test SOURCES ${sources} LIBRARIES tensortap_source)
    target_include_directories(source_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  endif()
endfunction()
