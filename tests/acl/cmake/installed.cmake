# The style of programs that name the place where CANN is installed: INSTALL_DIR/ascend-toolkit/latest, with the architecture's own folder.
cmake_minimum_required(VERSION 3.10)
project(sample_with_installation CXX)
set(CANN $ENV{INSTALL_DIR}/ascend-toolkit/latest/${CMAKE_SYSTEM_PROCESSOR}-linux)
add_executable(main sample_flow.cc)
target_compile_options(main PRIVATE -std=c++11)
target_include_directories(main PRIVATE ${CANN}/include)
target_link_libraries(main PRIVATE -L${CANN}/devlib -lascendcl -lacl_dvpp)
