// statistic.csv: its columns, the words of `statistic_category` that choose them, and its rows as each release writes them.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_STATISTICS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_STATISTICS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "system/mindspore/release.h"
#include "tree/statistics_table.h"

namespace tensortap::mindspore {

inline constexpr std::string_view kStatisticFile = "statistic.csv";

// A word of `statistic_category`.
struct Category {
  std::string_view item;
  const StatisticColumn* column;  // its word is the item's canonical name: "hash:sha1" for "hash"
  bool on_device;                 // MindSpore can compute it on the device
  bool newest_only;               // hash_categories of a release
};

std::span<const Category> categories();
// Null if the word is unknown.
const Category* find_category(std::string_view item);

// The categories of a config without `statistic_category`.
std::vector<std::string> default_categories();

// Immutable. Thread-safe.
class StatisticTable {
 public:
  // `categories`: the user's choice, joined by ","; releases with fixed columns ignore it. Errors: kInvalidArgument listing the categories
  // of the release.
  static Result<StatisticTable> create(const TreeRules& rules, std::string_view categories);

  [[nodiscard]] const std::string& header() const { return columns_.header(); }
  // Whether a digest is a column that a record with this one (a name of digest_from_name()) does not have.
  [[nodiscard]] bool needs_values(std::string_view digest) const;
  // Changes the record's statistics to those that the rows show, if that needs the data, and takes or computes the digests that are
  // columns. `data` is packed, or null if only the statistics are known. Releases that leave NaN and Inf out need statistics of
  // NonFinitePolicy::kSkipNonFinite, or the data.
  void complete(RecordRow& record, const TensorView* data, StatisticDigests& digests) const;
  // Appends a row with its line end, of a completed record. Unknown cells stay empty: statistics that were not measured, a digest of
  // another kind without the data. In releases that let NaN and Inf in, all cells that depend on them show them, whatever the policy of the
  // record's statistics was.
  void append_row(StatisticRow row, std::string& text) const;

 private:
  StatisticTable(const TreeRules& rules, std::vector<const StatisticColumn*> columns);
  [[nodiscard]] bool finite_only() const { return !rules_->fixed_categories.empty(); }

  const TreeRules* rules_;
  ChosenColumns columns_;
};

// The rows of a table that can be read. The views of a line lead into `text`.
std::vector<StatisticLine> read_statistic_table(std::string_view text, std::string_view name, TreeProblems& problems);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_STATISTICS_H_
