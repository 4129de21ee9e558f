// Judges each value of a comparison by the values that it is made of.
//
// Rounding errors do not add up over the depth of a program: an op adds a few roundings, and multiplies the error that it reads by a small
// factor. So a value is held against the largest error among its inputs, not against the number of ops
// before it. A limit on the error as a whole remains (`grown`): no op is wrong there, the result is.

#ifndef TENSORTAP_COMPARE_LOCAL_JUDGE_H_
#define TENSORTAP_COMPARE_LOCAL_JUDGE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/attribute_difference.h"
#include "compare/call_nesting.h"
#include "compare/difference.h"
#include "compare/op_kinds.h"
#include "compare/pairing_keys.h"
#include "compare/quantising_loss.h"
#include "compare/row_precision.h"
#include "compare/shared_codes.h"
#include "compare/sum_terms.h"
#include "compare/value_table.h"
#include "compare/way_between.h"
#include "query/op_facts.h"

namespace tensortap {

// Why a value is out.
enum class Finding : uint8_t {
  kNone,
  kOtherSize,   // another number of elements
  kNonFinite,   // NaN or Inf on one side only
  kWeights,     // a weight or an input differs, and neither is the other in a narrower type
  kAttributes,  // the op has other attributes
  kValue,       // more than the op may add to the error that it reads
  kMoved,       // an op that only moves elements returns others than it read
  kIntegers,    // whole numbers or truth values
  kSaturated,   // a quantiser of one side clips what it reads
  kSystematic,  // 16 bits: within the rounding of the type, but with a factor or a shift that rounding does not have
  kElement,     // single elements differ by more than rounding, though all of them together do not
  kType,        // one side computes it in a coarser type than both programs do elsewhere
  kGrown,       // the error as a whole is too large, though no op adds too much
};
// "", "other size", "non-finite", "weights", "attributes", "value", "moved", "integers", "saturated", "systematic", "element", "type",
// "grown"
std::string_view finding_name(Finding finding);

struct Judgement {
  Finding finding = Finding::kNone;
  bool follows = false;             // something that it is made of is out
  double level = 0;                 // the error that values made of it are judged by
  double in = 0;                    // the largest level of what it is made of
  uint32_t from = kNoRow;           // row of B that has it
  double allowed = 0;               // relative L2; Inf where so much differs before it that nothing can be said
  double held = 0;                  // what is held against it: relative to the terms of a sum, not to a sum that is nearly zero
  double step = 0;                  // of the coarsest type on the way from what it is made of
  uint32_t gap = 0;                 // ops on the way that have no partner and round
  std::vector<uint32_t> between_a;  // rows on the way without a partner
  std::vector<uint32_t> between_b;
  std::vector<AttributeDifference> attributes;
  struct Clipped {
    uint32_t row = kNoRow;  // of the dequantiser
    bool of_a = false;
    double share = 0;  // of the elements
  };
  Clipped clipped;
  // How many of its inputs were compared. Values on the way that the runtime itself inserted do not count.
  struct Inputs {
    uint32_t with_partner = 0;
    uint32_t without_a = 0;  // values of A on the way that have no partner
    uint32_t without_b = 0;
    bool captured = true;  // everything on the way
  };
  Inputs inputs;
  uint32_t weight = kNoRow;    // row of B of a changed weight that it read
  bool never_read = false;     // on one side at least: not judged
  bool addresses = false;      // of memory, on both sides: not judged
  bool moves_weights = false;  // the op only moves elements of a weight that differs
};

// Takes the pairs in the order of execution of B. Keeps a few numbers for each row of B. Borrows everything. One thread.
class LocalJudge {
 public:
  // `partners` are the rows of A by row of B, kNoRow without one. `allow` multiplies what an op may do to an error.
  LocalJudge(const PairingKeys& a, const PairingKeys& b, std::span<const uint32_t> partners, double allow);

  struct Pair {
    uint32_t row_a = kNoRow;
    uint32_t row_b = kNoRow;
    double model = 0;    // what the depth of the whole program would allow
    double step = 0;     // of the coarsest type on the whole way
    bool noise = false;  // differs by no more than runs of noise do: no finding
  };
  // Judges a pair whose data were compared. Call once for each pair.
  Judgement judge(const Pair& pair, const Difference& difference);
  // Judges a pair whose data cannot be compared. `error` is the error of its statistics, or infinite; `finding` is already known.
  Judgement note(const Pair& pair, double error, Finding finding);

 private:
  struct Way {
    WayBetween a;
    WayBetween b;
    double step = 0;
    double made_a = 0;  // of what ops of A made on it
    double made_b = 0;
    double codes = 0;     // step of the coarsest codes on it, 0 without codes
    double blocks_a = 0;  // step of weights in blocks (block_types.h) that ops of A multiply on it, 0 without
    double blocks_b = 0;
    bool codes_in_a = false;
    bool codes_in_b = false;
    double loss = 0;  // of quantising and back, within one dump
    Judgement::Clipped clipped{};
    [[nodiscard]] bool quantises() const { return codes > 0; }
  };
  // The inputs of a value of B.
  struct Inputs {
    double level = 0;
    uint32_t from = kNoRow;
    bool out = false;
    uint32_t changed_weight = kNoRow;
    double step = 0;  // of the coarsest type on the whole way
    bool zeros = false;
    double distance = 0;  // largest |a - b|
    double max_abs = 0;   // largest difference of an element
    double sums = 0;      // largest error that one sum adds, on the whole way
    std::vector<TensorNorm> norms;
  };
  struct Facts {
    float level = 0;
    float distance = 0;
    float norm = 0;
    float max_abs = 0;
    float step = 0;
    float sums = 0;  // largest error that one sum over many elements adds, on the whole way
    uint32_t changed_weight = kNoRow;
    bool out = false;
    bool zero = false;  // small beside what it was made of, as a sum may be, or made of such: its error says nothing of what follows
  };

  // What is known of a value that ops made.
  struct Made {
    Way way;
    Inputs inputs;
    const OpKind& kind;
    bool whole = false;       // integers or truth values
    bool zero = false;        // see Facts
    bool contracted = false;  // no further apart than what it was made of
    bool complete = false;    // all that it was made of is known
    double own = 0;           // what the op may add by itself
    double usual = 0;         // what would be allowed if no coarser type than the usual one were on the way
  };

  [[nodiscard]] Way way_of(const Pair& pair);
  static void note_codes(bool of_a, int bits, Way& way);
  const OpKind& kind_of(bool of_a, uint32_t row);
  // The largest error that one op between a pair and its inputs adds by summing, those without a partner too.
  double error_of_sums(const Pair& pair, const Way& way);
  [[nodiscard]] bool quantises(const Pair& pair);
  // Returns the step of the coarsest type that ops made.
  double look_between(bool of_a, std::span<const uint32_t> rows, Way& way);
  void look_at_loss(bool of_a, uint32_t row, Way& way);
  [[nodiscard]] double allowed_by(const OpKind& kind, bool further_output, double step, double spread, const Inputs& inputs,
                                  double in) const;
  [[nodiscard]] Finding finding_of(const Pair& pair, const Difference& difference, const Made& made, Judgement& judgement);
  [[nodiscard]] Finding small_finding_of(const Pair& pair, const Difference& difference, const Made& made,
                                         const Judgement& judgement) const;
  [[nodiscard]] Inputs inputs_of(const Way& way) const;
  [[nodiscard]] Judgement::Inputs known_inputs(const Way& way) const;
  [[nodiscard]] uint32_t gap_of(const Pair& pair, const Way& way);
  void look_into_modules(Way& way) const;
  [[nodiscard]] uint32_t rounding_ops_in(uint32_t row_b) const;
  void judge_given(const Pair& pair, const Difference& difference, Judgement& judgement);
  void judge_made(const Pair& pair, const Difference& difference, Judgement& judgement);
  void look_behind_overlays(std::span<const uint32_t> inputs, Judgement& judgement);
  [[nodiscard]] bool is_never_read(const Pair& pair);
  [[nodiscard]] bool is_given(const Pair& pair) const;
  [[nodiscard]] bool is_authored(const Pair& pair) const;
  [[nodiscard]] bool is_rounding_of_codes(const Pair& pair, const Difference& difference);
  void keep(const Pair& pair, const Difference& difference, const Judgement& judgement);

  const PairingKeys& keys_b_;
  const ValueTable& a_;
  const ValueTable& b_;
  std::span<const uint32_t> partners_b_;  // of rows of B
  double allow_;
  std::vector<uint32_t> partners_a_;  // of rows of A
  OpKinds kinds_a_;
  OpKinds kinds_b_;
  RowPrecision precision_a_;
  RowPrecision precision_b_;
  std::optional<double> step_of_given_;  // of the coarsest weight or input of either program, once it was asked for
  QuantisingLosses losses_a_;
  QuantisingLosses losses_b_;
  std::optional<OpsInModules> ops_in_modules_;  // of B, where the records of both dumps are of modules alone
  SharedCodes shared_codes_;
  double usual_step_ = 0;                                                // of both programs; 0 where they differ
  std::vector<Facts> facts_;                                             // by row of B
  std::optional<std::pair<std::vector<bool>, std::vector<bool>>> dead_;  // of A and of B, once something differs
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_LOCAL_JUDGE_H_
