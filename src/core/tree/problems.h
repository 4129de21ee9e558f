// Collects what a reader of an untrusted tree had to skip, one sentence each; for many of one kind, the first ones and a count.

#ifndef TENSORTAP_TREE_PROBLEMS_H_
#define TENSORTAP_TREE_PROBLEMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tensortap {

enum class Skipped : uint8_t { kTensorFile, kForeign, kDumpData, kFolder, kStatistics, kMapping, kGraph, kDoubt };

// Not thread-safe.
class TreeProblems {
 public:
  // Keeps the first sentences of each kind and only counts the others.
  void add(Skipped kind, std::string sentence) {
    if (loses_records(kind) && damage_.size() < kMostOfAKind) damage_.push_back(sentence);
    if (++counts_[kind] <= kMostOfAKind) sentences_.push_back(std::move(sentence));
  }

  // The sentences about records that could not be read, the first ones. take() leaves them.
  [[nodiscard]] const std::vector<std::string>& damage() const { return damage_; }

  // All sentences, with what was only counted at the end.
  std::vector<std::string> take() {
    static constexpr const char* kWords[] = {"damaged tensor files",        "foreign files or folders",         "DumpData files",
                                             "folders that cannot be read", "bad rows of statistics",           "bad rows of mapping.csv",
                                             "damaged graph files",         "doubts about files that were read"};
    for (const auto& [kind, count] : counts_) {
      if (count > kMostOfAKind) sentences_.push_back(concat("and ", count - kMostOfAKind, " more ", kWords[static_cast<size_t>(kind)]));
    }
    counts_.clear();
    return std::exchange(sentences_, {});
  }

 private:
  // Foreign files, doubts, names and graphs take no record away.
  static constexpr bool loses_records(Skipped kind) {
    return kind == Skipped::kTensorFile || kind == Skipped::kDumpData || kind == Skipped::kFolder || kind == Skipped::kStatistics;
  }
  static constexpr size_t kMostOfAKind = 50;
  std::map<Skipped, size_t> counts_;
  std::vector<std::string> damage_;
  std::vector<std::string> sentences_;
};

}  // namespace tensortap

#endif  // TENSORTAP_TREE_PROBLEMS_H_
