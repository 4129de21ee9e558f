// The ops of a job: one numbering for the ops of all its dumps.

#ifndef TENSORTAP_TABLE_JOB_OPS_H_
#define TENSORTAP_TABLE_JOB_OPS_H_

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/op_info.h"

namespace tensortap {

// Ops of two dumps are the same when name, type, module and graph are. They are numbered in the order of the first dump that has them; an
// op that only later dumps have comes behind the op that it follows there, and before the first known one where it follows none.
// Thread-compatible.
class JobOps {
 public:
  struct Op {
    std::string name;
    std::string type;
    std::string module;
    std::string graph;
    uint32_t dumps = 0;       // that have it
    uint32_t first_dump = 0;  // number of the first of them
    bool has_source = false;  // a line of the program is known, in any of them
  };

  // Adds the ops of the next dump.
  void add(std::span<const OpInfo> ops);
  // Numbers all ops; nothing is added afterwards.
  void finish();

  // In the order of their numbers.
  [[nodiscard]] std::span<const Op> ops() const { return ops_; }
  // The number in the job of each op of a dump, which are counted from 0 in the order of add().
  [[nodiscard]] std::span<const uint32_t> numbers(size_t dump) const { return dumps_[dump]; }

 private:
  uint32_t known(const OpInfo& op);
  void put_behind(uint32_t place, uint32_t op);

  // Until finish() the ops are in the order of their addition, linked in that of their numbers; 0 is the end of both directions.
  std::vector<Op> ops_;
  std::vector<uint32_t> next_ = {0};
  std::vector<uint32_t> previous_ = {0};
  std::unordered_map<std::string, uint32_t> places_;
  std::vector<std::vector<uint32_t>> dumps_;
};

}  // namespace tensortap

#endif  // TENSORTAP_TABLE_JOB_OPS_H_
