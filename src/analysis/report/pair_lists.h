// PairLists: the lists of pairs of a report as numbers, with one table of what has a number.

#ifndef TENSORTAP_REPORT_PAIR_LISTS_H_
#define TENSORTAP_REPORT_PAIR_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "report/embedded_answers.h"

namespace tensortap {

// Not thread-safe.
class PairLists {
 public:
  // `most_bytes` is what the table may have at most.
  explicit PairLists(uint64_t most_bytes) : most_(most_bytes) {}

  // The answer to /api/pairs under `target`; `items` have a "pair" each. Those that the table has no room for are left out.
  void add(const std::string& target, const Json& items);

  // The first pairs of each list in turn, each once.
  [[nodiscard]] std::vector<uint64_t> first(size_t most) const;
  // How many pairs were left out, each once for a list.
  [[nodiscard]] size_t left_out() const { return left_out_; }
  // False when they do not fit.
  bool keep(EmbeddedAnswers& answers) const;

 private:
  struct List {
    std::string target;
    std::vector<uint64_t> pairs;
  };

  uint64_t most_;
  uint64_t bytes_ = 0;
  size_t left_out_ = 0;
  Json table_ = Json::object();
  std::vector<List> lists_;
};

}  // namespace tensortap

#endif  // TENSORTAP_REPORT_PAIR_LISTS_H_
