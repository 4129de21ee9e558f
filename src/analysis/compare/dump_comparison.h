// Two dumps beside each other: which values are paired, how each pair differs, and where differences began.

#ifndef TENSORTAP_COMPARE_DUMP_COMPARISON_H_
#define TENSORTAP_COMPARE_DUMP_COMPARISON_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compare/alignment.h"
#include "compare/local_judge.h"
#include "compare/name_map.h"
#include "compare/other_shape.h"
#include "compare/pairing.h"
#include "compare/pairing_keys.h"
#include "compare/quantised_value.h"
#include "compare/step_pairs.h"
#include "compare/tolerance_model.h"
#include "compare/tolerance_rules.h"
#include "compare/unpaired.h"
#include "compare/value_table.h"
#include "compare/verdict.h"
#include "query/op_facts.h"

namespace tensortap {

// Where a difference comes from.
enum class Birth : uint8_t {
  kNone,       // there is none
  kBorn,       // all that the op read is equal, bit by bit
  kInherited,  // something that it read differs
  kGiven,      // it is a weight or an input
  kUnknown,    // some of its inputs were not captured or have no pair, the rest is equal
};
std::string_view birth_name(Birth birth);  // "", "born", "inherited", "given", "unknown"

// One record of A beside one of B.
struct ComparedValue {
  uint32_t row_a = kNoRow;
  uint32_t row_b = kNoRow;
  uint32_t pair = Pairing::kNoPair;  // position in Pairing::pairs
  Verdict verdict = Verdict::kNotComparable;
  std::optional<Difference> data;                  // both have their data
  std::optional<StatisticsDifference> statistics;  // one has not
  std::string reason;                              // why it is not comparable, or why its data are not
  bool unreadable = false;                         // data of it could not be read: a dump is damaged. Statistics were compared
  bool other_place = false;                        // not comparable because it is a place, which other values show to be the same
  VerdictBasis basis;
  ToleranceRule rule;
  Judgement judgement;                                      // without a file of tolerances
  double error = std::numeric_limits<double>::quiet_NaN();  // relative L2, or the largest difference of statistics; NaN when not compared
  Birth birth = Birth::kNone;
  double inherited = 0;      // largest error of what the op read
  uint32_t source = kNoRow;  // row of B that has it
  uint32_t weight = kNoRow;  // row of B of a weight that the op read and that differs
  [[nodiscard]] double growth() const { return inherited > 0 ? error / inherited : 0; }
};

// What is counted on the way. Rows are rows of B and stand with those of A beside them.
struct ComparisonSummary {
  static constexpr size_t kMostFurther = 3;
  struct Place {
    uint32_t row_a = kNoRow;
    uint32_t row_b = kNoRow;
    double error = 0;
    std::optional<uint64_t> at;  // flat index in A of the first element that differs
    double growth = 0;
  };
  size_t values_a = 0;  // that ops made, in the steps that are compared
  size_t values_b = 0;
  size_t paired = 0;                         // of them
  std::array<size_t, kPairRules> by_rule{};  // of these
  std::array<size_t, kAbsences> absent_a{};  // of the others
  std::array<size_t, kAbsences> absent_b{};
  // Results of a program, and values without a partner that lead to none that has one (Unpaired::is_open_end).
  struct ResultCount {
    size_t paired = 0;
    size_t open = 0;
    ValueId first_open = kNoValue;
  };
  ResultCount results_a;
  ResultCount results_b;
  std::array<uint64_t, kVerdicts> verdicts{};  // of records of values that ops made
  std::array<uint64_t, kVerdicts> given{};     // of weights and inputs
  uint64_t records = 0;                        // that were compared, with the given ones
  double largest_error = 0;                    // of finite ones
  double largest_noise_ratio = 0;              // error to noise, where noise is known
  uint64_t with_noise = 0;                     // records of values that ops made, which the noise reaches
  uint64_t other_sizes = 0;                    // records of one value that have other numbers of elements
  uint64_t addresses = 0;                      // records that hold addresses of memory, which differ and are not judged
  uint64_t uncompared = 0;                     // records of as many elements of which nothing could be compared
  std::string first_uncompared;                // why, of the first of these
  uint64_t unreadable = 0;                     // records whose data could not be read
  std::string first_unreadable;                // why, of the first of these
  std::string first_reason;                    // why the first record that is not comparable is not
  Place first;                                 // the first that differs
  Place first_outside;                         // the first that is outside of the tolerance
  Place first_given;                           // the first weight or input that differs
  // The first value that has a finding while nothing that it is made of has one. Values that only grew count where there is no other;
  // where there is none at all, the first weight or input that has a finding: it changed nothing.
  std::optional<ComparedValue> culprit;
  std::optional<ComparedValue> given_culprit;  // the latter, whatever else there is
  std::vector<ComparedValue> further;          // the next of them that have a finding, at most kMostFurther
  std::optional<OtherShape> other_shape;
  uint64_t roots = 0;       // values that ops made, that have a finding while nothing that they are made of has one
  std::vector<Place> born;  // ops whose own difference it is, the first record of each
  uint64_t inherited = 0;
  uint64_t unknown = 0;
  Place largest_growth;

  void add_root(const ComparedValue& value);  // in the order of execution of B
  [[nodiscard]] uint64_t count(Verdict verdict) const { return verdicts[static_cast<size_t>(verdict)]; }
  [[nodiscard]] uint64_t differing() const;  // records of values that ops made
  [[nodiscard]] bool outside() const;        // something is outside of the tolerance, or has another number of elements
  [[nodiscard]] uint64_t judged() const;     // records of which a verdict could be given, with the given ones
  // Whether a part of what the programs compute has no partner and leads to none: then nothing can be said of their results.
  [[nodiscard]] bool has_open_ends() const { return results_a.open + results_b.open > 0; }
};

// Another run of one of the two programs, of inputs that differ in the last bit.
struct NoiseDump {
  enum class Of : uint8_t { kA, kB, kEither };  // which of them; kEither: the one whose values have its names
  const DumpIndex* dump = nullptr;
  Of of = Of::kEither;
};

struct ComparisonOptions {
  std::vector<StepPair> steps;
  std::vector<NameLine> map;
  std::string map_name;                   // for messages
  const ToleranceRules* rules = nullptr;  // null: by type and depth
  std::vector<NoiseDump> noise;
  double allow = 1;  // multiplies what rounding may do, from 1 on; not with `rules`
  // How far the work is; may be empty.
  std::function<void(std::string_view stage, size_t done, size_t all)> progress;
  // Set by another thread: run() ends before its next pair. May be null.
  const std::atomic<bool>* stop = nullptr;
};

// Borrows the dumps and the rules. One thread.
class DumpComparison {
 public:
  // Pairs the values. Errors: kInvalidArgument for a map with unknown names; kCorrupt when nothing can be paired.
  static Result<std::unique_ptr<DumpComparison>> make(const DumpIndex& a, const DumpIndex& b, ComparisonOptions options);
  DumpComparison(const DumpComparison&) = delete;
  DumpComparison& operator=(const DumpComparison&) = delete;

  // Compares every pair of records in the order of execution of B. Data of a pair are read once, and let go before the next. Called once.
  void run(const std::function<void(const ComparedValue&)>& visit);

  [[nodiscard]] const DumpIndex& a() const { return a_.dump(); }
  [[nodiscard]] const DumpIndex& b() const { return b_.dump(); }
  [[nodiscard]] const ValueTable& table_a() const { return a_; }
  [[nodiscard]] const ValueTable& table_b() const { return b_; }
  [[nodiscard]] const Pairing& pairing() const { return pairing_; }
  [[nodiscard]] const Alignment& alignment() const { return *alignment_; }
  [[nodiscard]] const ChosenSteps& steps() const { return steps_; }
  [[nodiscard]] double allow() const { return options_.allow; }
  [[nodiscard]] size_t noise_dumps() const { return options_.noise.size(); }
  [[nodiscard]] const std::vector<Unpaired>& unpaired_a() const { return unpaired_a_; }
  [[nodiscard]] const std::vector<Unpaired>& unpaired_b() const { return unpaired_b_; }
  // Complete after run().
  [[nodiscard]] const ComparisonSummary& summary() const { return summary_; }

 private:
  struct Inherited {
    double error = 0;
    uint32_t source = kNoRow;
    uint32_t weight = kNoRow;
    bool differs = false;
    bool complete = true;
  };

  DumpComparison(const DumpIndex& a, const DumpIndex& b, ComparisonOptions options);
  Status pair();
  void explain();
  void count_results();
  void measure_noise();
  void add_noise(const NoiseDump& noise);
  void find_partners();
  [[nodiscard]] ToleranceRule rule_of(ValueId a) const;
  [[nodiscard]] ComparedValue compare(uint32_t row_b);
  void judge(ComparedValue& value);
  void judge_statistics(ComparedValue& value);
  [[nodiscard]] Inherited inherited_by(uint32_t row_b) const;
  void look_at_input(uint32_t input, Inherited& found, std::vector<uint32_t>& waiting) const;
  void find_birth(ComparedValue& value) const;
  void count(const ComparedValue& value);
  void count_not_comparable(const ComparedValue& value);
  void count_birth(const ComparedValue& value, const ComparisonSummary::Place& place);
  void count_finding(const ComparedValue& value);
  [[nodiscard]] bool is_position(const ComparedValue& value) const;

  ComparisonOptions options_;
  ChosenSteps steps_;
  ValueTable a_;
  ValueTable b_;
  PairingKeys keys_a_;
  PairingKeys keys_b_;
  OpFactsTable facts_b_;
  bool rounded_otherwise_;  // as compare_statistics() has it
  std::unique_ptr<Alignment> alignment_;
  Pairing pairing_;
  std::vector<ModelTolerance> tolerances_;  // by pair
  std::vector<ToleranceRule> rules_;        // by pair
  std::vector<Unpaired> unpaired_a_;
  std::vector<Unpaired> unpaired_b_;
  std::vector<uint32_t> first_rows_;                                  // by pair: of B, the one that was looked at for the pair
  std::vector<std::pair<QuantisedValue, QuantisedValue>> quantised_;  // by pair
  std::vector<uint32_t> partner_;                                     // row of A beside each of B, kNoRow
  std::vector<float> errors_;                                         // by row of B; NaN = not compared, 0 = equal
  std::vector<float> floors_;                                         // by row of B; empty without dumps of noise
  std::unique_ptr<LocalJudge> judge_;
  std::vector<bool> out_pairs_;  // by pair: a value of it is out
  std::vector<bool> born_;       // by op of B
  ComparisonSummary summary_;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_DUMP_COMPARISON_H_
