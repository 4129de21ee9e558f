// The names that an expression of `where` may ask for.

#ifndef TENSORTAP_PLAN_WHERE_FIELDS_H_
#define TENSORTAP_PLAN_WHERE_FIELDS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "plan/where_program.h"
#include "tensor/tensor_stats.h"

namespace tensortap {

struct FieldName {
  std::string_view name;
  WhereField field;
};

inline constexpr std::array kWhereFields = {
    FieldName{"min", WhereField::kMin},
    FieldName{"max", WhereField::kMax},
    FieldName{"mean", WhereField::kMean},
    FieldName{"std", WhereField::kStd},
    FieldName{"l2", WhereField::kL2},
    FieldName{"absmax", WhereField::kAbsMax},
    FieldName{"nan", WhereField::kNan},
    FieldName{"pos_inf", WhereField::kPosInf},
    FieldName{"neg_inf", WhereField::kNegInf},
    FieldName{"zero", WhereField::kZero},
    FieldName{"neg_zero", WhereField::kNegZero},
    FieldName{"positive", WhereField::kPositive},
    FieldName{"negative", WhereField::kNegative},
    FieldName{"inf", WhereField::kInf},
    FieldName{"nonfinite", WhereField::kNonFinite},
    FieldName{"numel", WhereField::kNumel},
    FieldName{"bytes", WhereField::kBytes},
    FieldName{"rank", WhereField::kRank},
    FieldName{"step", WhereField::kStep},
    FieldName{"call", WhereField::kCall},
    FieldName{"element", WhereField::kElement},
    FieldName{"duration", WhereField::kDuration},
    FieldName{"op", WhereField::kOp},
    FieldName{"type", WhereField::kType},
    FieldName{"dtype", WhereField::kDType},
    FieldName{"slot", WhereField::kSlot},
    FieldName{"phase", WhereField::kPhase},
    FieldName{"module", WhereField::kModule},
};

// The Stat bits that a field needs; 0 = none.
inline uint32_t stats_of(WhereField field) {
  if (field < WhereField::kInf) return 1U << static_cast<uint32_t>(field);
  if (field == WhereField::kInf) return kStatPosInf | kStatNegInf;
  return field == WhereField::kNonFinite ? kStatNonFinite : 0;
}

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_WHERE_FIELDS_H_
