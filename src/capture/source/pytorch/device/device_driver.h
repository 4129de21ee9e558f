// The driver of NVIDIA's devices and the compiler for them, as libraries that are found in the process: nothing of them is linked.

#ifndef TENSORTAP_SOURCE_PYTORCH_DEVICE_DEVICE_DRIVER_H_
#define TENSORTAP_SOURCE_PYTORCH_DEVICE_DEVICE_DRIVER_H_

#include <cstddef>
#include <cstdint>

namespace tensortap::pytorch {

// Functions of the driver (cuda.h). Each returns 0 on success.
struct DeviceDriver {
  int (*device_get)(int* device, int ordinal);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*context_retain)(void** context, int device);
  int (*context_current)(void** context);
  int (*context_push)(void* context);
  int (*context_pop)(void** context);
  int (*module_load)(void** module, const void* image);
  int (*module_function)(void** function, void* module, const char* name);
  int (*host_address)(uint64_t* address, void* host, unsigned flags);
  int (*launch)(void* function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, unsigned threads_z,
                unsigned shared_bytes, void* stream, void** parameters, void** extra);
  int (*exchange_mode)(int* mode);  // of the calling thread, while others record graphs
};

// Functions of NVRTC (nvrtc.h). Each returns 0 on success.
struct DeviceCompiler {
  int (*version)(int* major, int* minor);
  int (*make)(void** program, const char* source, const char* name, int header_count, const char* const* headers,
              const char* const* header_names);
  int (*compile)(void* program, int count, const char* const* options);
  int (*binary_size)(void* program, size_t* size);
  int (*binary)(void* program, char* bytes);
  int (*text_size)(void* program, size_t* size);
  int (*text)(void* program, char* bytes);
  int (*destroy)(void** program);
  int (*architecture_count)(int* count);
  int (*architectures)(int* numbers);
};

// Null where the process has not loaded the driver, or where it lacks a function. Loads nothing. Any thread.
const DeviceDriver* find_device_driver();
// Null where there is none. Loads the library if need be: torch brings it along. Any thread; takes tenths of a second.
const DeviceCompiler* find_device_compiler();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_DEVICE_DEVICE_DRIVER_H_
