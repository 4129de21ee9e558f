#include "source/pytorch/memory/output_arguments.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

namespace tensortap::pytorch {
namespace {

struct Arguments {
  uint64_t outputs = 0;
  uint64_t others = 0;
};

struct Known {
  std::mutex mutex;
  std::map<std::string, Arguments> arguments;
};

// Never destroyed: threads run while the process ends.
Known& known() {
  static auto& made = *new Known;
  return made;
}

constinit std::atomic<bool> any_known{false};
constinit thread_local uint32_t running_code = 0;
constinit thread_local uint32_t running_reported_code = 0;
constinit thread_local uint32_t root_of_code = 0;
constinit thread_local bool operator_ran = false;

}  // namespace

void compiled_code_begins() { ++running_code; }

bool compiled_code_ends() {
  const bool ran = operator_ran;
  if (--running_code == 0) operator_ran = false;
  return ran;
}

void note_operator_in_code() { operator_ran = true; }

bool compiled_code_runs() { return running_code > 0; }

uint32_t reported_code_begins(uint32_t root) {
  ++running_reported_code;
  return std::exchange(root_of_code, root);
}

void reported_code_ends(uint32_t before) {
  --running_reported_code;
  root_of_code = before;
}

uint32_t reported_code_root() { return root_of_code; }

bool reported_code_runs() { return running_reported_code > 0; }

void note_output_argument(const std::string& op, uint32_t slot, bool is_new) {
  if (slot >= 64) return;
  const std::lock_guard lock(known().mutex);
  Arguments& arguments = known().arguments[op];
  (is_new ? arguments.outputs : arguments.others) |= uint64_t{1} << slot;
  any_known = true;
}

uint64_t output_arguments(const std::string& op, const std::string& overload) {
  if (!any_known) return 0;
  const std::lock_guard lock(known().mutex);
  const auto found = known().arguments.find(op + "." + (overload.empty() ? "default" : overload));
  return found == known().arguments.end() ? 0 : found->second.outputs & ~found->second.others;
}

}  // namespace tensortap::pytorch
