// The names that an expression of `where` may ask for.

#ifndef TENSORTAP_PLAN_WHERE_FIELDS_H_
#define TENSORTAP_PLAN_WHERE_FIELDS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plan/where_program.h"
#include "tensor/statistics.h"

namespace tensortap {

struct FieldName {
  std::string_view name;
  WhereField field;
};

inline constexpr std::array kOtherWhereFields = {
    FieldName{"inf", WhereField::kInf},           FieldName{"nonfinite", WhereField::kNonFinite},
    FieldName{"numel", WhereField::kNumel},       FieldName{"bytes", WhereField::kBytes},
    FieldName{"rank", WhereField::kRank},         FieldName{"step", WhereField::kStep},
    FieldName{"call", WhereField::kCall},         FieldName{"element", WhereField::kElement},
    FieldName{"duration", WhereField::kDuration}, FieldName{"op", WhereField::kOp},
    FieldName{"type", WhereField::kType},         FieldName{"dtype", WhereField::kDType},
    FieldName{"slot", WhereField::kSlot},         FieldName{"phase", WhereField::kPhase},
    FieldName{"module", WhereField::kModule},     FieldName{"model_phase", WhereField::kModelPhase},
};

// Statistics first.
inline constexpr auto kWhereFields = [] {
  std::array<FieldName, kStatisticTable.size() + kOtherWhereFields.size()> fields{};
  for (size_t i = 0; i < kStatisticTable.size(); ++i) fields[i] = {kStatisticTable[i].name, static_cast<WhereField>(i)};
  std::ranges::copy(kOtherWhereFields, fields.begin() + kStatisticTable.size());
  return fields;
}();

// Null for a field that is none.
inline const Statistic* statistic_of(WhereField field) {
  const auto number = static_cast<size_t>(field);
  return number < kStatisticTable.size() ? &kStatisticTable[number] : nullptr;
}

// The Stat bits that a field needs; 0 = none.
inline uint32_t stats_of(WhereField field) {
  if (const Statistic* statistic = statistic_of(field)) return statistic->bit;
  if (field == WhereField::kInf) return kStatPosInf | kStatNegInf;
  return field == WhereField::kNonFinite ? kStatNonFinite : 0;
}

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_WHERE_FIELDS_H_
