// Which recorded calls ran inside of which: ops and modules inside of modules, kernels inside of ops.

#ifndef TENSORTAP_COMPARE_CALL_NESTING_H_
#define TENSORTAP_COMPARE_CALL_NESTING_H_

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "query/record_lookup.h"
#include "trace/dump_index.h"

namespace tensortap {

inline bool is_module(const OpInfo& op) { return op.level == Level::kModule || op.level == Level::kModel; }

// A call is the records of one execution; it lasts from the first of them to the last. Immutable; borrows the dump. Linear in the records,
// nothing for dumps of ops alone.
class CallNesting {
 public:
  static constexpr uint32_t kNoCall = std::numeric_limits<uint32_t>::max();

  explicit CallNesting(const DumpIndex& dump);

  // Whether the dump has only records of ops: then nothing is known to run inside of anything.
  [[nodiscard]] bool empty() const { return calls_.empty(); }
  // Whether the dump has records of modules and of nothing that runs in them.
  [[nodiscard]] bool has_modules_alone() const { return has_modules_alone_; }
  // The call of a record; not with `empty()`.
  [[nodiscard]] uint32_t call_of(uint32_t row) const { return call_of_row_[row]; }
  // The innermost call around a call, kNoCall if there is none.
  [[nodiscard]] uint32_t around(uint32_t call) const { return calls_[call].around; }
  // The calls that run directly in it, in the order of time.
  [[nodiscard]] std::span<const uint32_t> inside(uint32_t call) const { return calls_[call].inside; }
  // Its records in the order of time; never empty.
  [[nodiscard]] std::span<const uint32_t> rows(uint32_t call) const { return calls_[call].rows; }

 private:
  struct Call {
    size_t first = 0;  // places in the order of time
    size_t last = 0;
    uint32_t thread = 0;
    uint32_t around = kNoCall;
    std::vector<uint32_t> inside;
    std::vector<uint32_t> rows;
  };

  std::vector<Call> calls_;  // in the order of their first records
  std::vector<uint32_t> call_of_row_;
  bool has_modules_alone_ = false;
};

// How many ops that round run in each module of a dump, of modules that were recorded themselves. Immutable.
class OpsInModules {
 public:
  explicit OpsInModules(const DumpIndex& dump);
  // The module's direct ops, at most `most` of them, and all ops of modules in it that were not recorded; `most` where no op is known.
  [[nodiscard]] uint32_t in(const OpInfo& module, uint32_t most) const;

 private:
  struct Counts {
    uint32_t all = 0;
    uint32_t own = 0;     // that round
    uint32_t deeper = 0;  // that round
  };
  std::unordered_map<std::string_view, Counts> counts_;  // by path of the module; the keys are the dump's
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_CALL_NESTING_H_
