#include "source/onnxruntime/program/program_logging.h"

namespace tensortap::onnxruntime {

void ProgramLogging::made(const abi::Env* environment, const LineReceiver& logger) {
  const std::lock_guard lock(mutex_);
  environments_.try_emplace(environment, logger);
}

void ProgramLogging::set(const abi::SessionOptions* options, const LineReceiver& function) {
  const std::lock_guard lock(mutex_);
  if (function.function == nullptr) {
    functions_.erase(options);
  } else {
    functions_[options] = function;
  }
}

void ProgramLogging::copy(const abi::SessionOptions* from, const abi::SessionOptions* to) {
  const std::lock_guard lock(mutex_);
  if (const auto found = functions_.find(from); found != functions_.end()) functions_[to] = found->second;
}

std::optional<LineReceiver> ProgramLogging::receiver(const abi::Env* environment, const abi::SessionOptions* options) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = functions_.find(options); found != functions_.end()) return found->second;
  const auto found = environments_.find(environment);
  return found == environments_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tensortap::onnxruntime
