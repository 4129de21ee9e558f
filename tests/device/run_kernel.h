// Runs the statistics kernel on the host, one block after the other.
#ifndef TENSORTAP_TESTS_DEVICE_RUN_KERNEL_H_
#define TENSORTAP_TESTS_DEVICE_RUN_KERNEL_H_

#include <memory>
#include <string_view>

#include "source/pytorch/device/kernel_code.h"

namespace tensortap::device_kernel {

template <class Type>
bool run_blocks(const Work& work, Long blocks) {
  const auto threads = std::make_unique<Thread<Type>[]>(kThreads);
  for (Long block = 0; block < blocks; ++block) measure_on_host<Type>(work, block, threads.get());
  return true;
}

// False for an unknown type.
inline bool run_kernel(std::string_view type, const Work& work, Long blocks) {
  if (type == "Float32") return run_blocks<Float32>(work, blocks);
  if (type == "Float16") return run_blocks<Float16>(work, blocks);
  if (type == "Bfloat16") return run_blocks<Bfloat16>(work, blocks);
  if (type == "Float8E4M3Fn") return run_blocks<Float8E4M3Fn>(work, blocks);
  if (type == "Float8E4M3Fnuz") return run_blocks<Float8E4M3Fnuz>(work, blocks);
  if (type == "Float8E5M2") return run_blocks<Float8E5M2>(work, blocks);
  if (type == "Float8E5M2Fnuz") return run_blocks<Float8E5M2Fnuz>(work, blocks);
  if (type == "Uint8") return run_blocks<Uint8>(work, blocks);
  if (type == "Int8") return run_blocks<Int8>(work, blocks);
  if (type == "Uint16") return run_blocks<Uint16>(work, blocks);
  if (type == "Int16") return run_blocks<Int16>(work, blocks);
  if (type == "Uint32") return run_blocks<Uint32>(work, blocks);
  if (type == "Int32") return run_blocks<Int32>(work, blocks);
  if (type == "Uint64") return run_blocks<Uint64>(work, blocks);
  if (type == "Int64") return run_blocks<Int64>(work, blocks);
  return false;
}

}  // namespace tensortap::device_kernel

#endif  // TENSORTAP_TESTS_DEVICE_RUN_KERNEL_H_
