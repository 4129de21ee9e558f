#include "compare/culprit_text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/name_list.h"
#include "base/text.h"
#include "compare/comparison_json.h"
#include "compare/region.h"

namespace tensortap {
namespace {

constexpr size_t kMostNamedOps = 3;

std::string three_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

// "1 in A and 2 in B have none"
std::string without_partner_text(const Judgement::Inputs& inputs) {
  std::vector<std::string> sides;
  if (inputs.without_a > 0) sides.push_back(concat(inputs.without_a, " in A"));
  if (inputs.without_b > 0) sides.push_back(concat(inputs.without_b, " in B"));
  return concat(join(sides, " and "), inputs.without_a + inputs.without_b == 1 ? " has none" : " have none");
}

std::string inputs_text(const DumpComparison& comparison, const ComparedValue& value) {
  const Judgement& judgement = value.judgement;
  if (judgement.weight != kNoRow) {
    return concat("it reads a weight or an input that differs: ", record_name_of(comparison.b(), judgement.weight));
  }
  const Judgement::Inputs& inputs = judgement.inputs;
  const uint32_t without = inputs.without_a + inputs.without_b;
  if (inputs.with_partner == 0) return without > 0 ? "none of its inputs has a partner" : "none of its inputs is known";
  const std::string agree = judgement.in == 0 ? "are equal" : concat("agree to ", three_digits(judgement.in));
  // The module's ops were not recorded, only the modules in it.
  const bool of_modules = comparison.table_b().has_modules_alone();
  const std::string rest = inputs.captured ? "" : ", and some were not captured";
  if (without == 0) return concat(of_modules ? "its inputs and its modules' outputs " : "its inputs ", agree, rest);
  return concat(of_modules ? "the inputs and modules' outputs" : "the inputs", " that have a partner ", agree, ", but ",
                without_partner_text(inputs), rest);
}

// "layer.o:out0 (Linear)"; of what a module makes and does not return "layer (Layer), in what it passes to layer.o:in0".
std::string value_text(const DumpComparison& comparison, uint32_t row_b) {
  const DumpIndex& b = comparison.b();
  const std::string name = record_name_of(b, row_b);
  const OpId passed_by = comparison.table_b().passed_by(row_b);
  if (passed_by == kNoOp) return concat(name, " (", op_of(b, b.rows()[row_b]).type, ")");
  const OpInfo& module = b.ops()[passed_by];
  return concat(module.name, " (", module.type, "), in what it passes to ", name);
}

std::string_view explanation(Finding finding) {
  switch (finding) {
    case Finding::kGrown:
      return ", the error grew over ops none of which adds much";
    case Finding::kSystematic:
      return ", by a factor or a shift that rounding does not have";
    case Finding::kElement:
      return ", but single elements differ by more than rounding";
    case Finding::kType:
      return ", one side computes it in a coarser type";
    default:
      return "";
  }
}

std::string finding_text(const DumpComparison& comparison, const ComparedValue& value) {
  const Judgement& judgement = value.judgement;
  if (comparison.table_b().at(comparison.table_b().value_of(value.row_b)).given) {
    const std::string_view nothing = ", an input or a weight, though nothing that is made of it is out";
    return concat(value_text(comparison, value.row_b), ": relative L2 ", three_digits(value.error), nothing);
  }
  const std::string what = judgement.finding == Finding::kOtherSize ? value.reason : concat("relative L2 ", three_digits(value.error));
  return concat(value_text(comparison, value.row_b), ": ", what, ", ", inputs_text(comparison, value), explanation(judgement.finding));
}

std::string brackets_text(const RecordRow& row) {
  const TensorDesc desc = row.desc();
  std::vector<std::string> sizes;
  for (const int64_t size : desc.shape.dims()) sizes.push_back(std::to_string(size));
  return concat("[", join(sizes, ","), "]");
}

std::string shapes_text(const DumpComparison& comparison, const OtherShape& other) {
  return concat(record_name_of(comparison.b(), other.row_b), " ", brackets_text(comparison.a().rows()[other.row_a]), " in A, ",
                brackets_text(comparison.b().rows()[other.row_b]), " in B");
}

// "only A has 2 ops before it: scale (Mul), mask (Add)"
void add_region(std::vector<std::string>& details, std::string_view side, const ValueTable& table, const std::vector<uint32_t>& rows) {
  const std::vector<OpId> ops = region_ops(table, rows);
  if (ops.empty()) return;
  std::vector<std::string> names;
  for (const OpId id : ops) names.push_back(concat(table.dump().ops()[id].name, " (", table.dump().ops()[id].type, ")"));
  details.push_back(concat("only ", side, " has ", counted(ops.size(), "op"), " before it: ", name_list(std::move(names), kMostNamedOps)));
}

void add_culprit(std::vector<std::string>& details, const DumpComparison& comparison, const ComparedValue& culprit) {
  const Judgement& judgement = culprit.judgement;
  for (const AttributeDifference& one : judgement.attributes) {
    details.push_back(concat("attributes differ: ", one.name, " ", one.a, " in A, ", one.b, " in B"));
  }
  if (const Judgement::Clipped& clipped = judgement.clipped; clipped.row != kNoRow) {
    const DumpIndex& dump = clipped.of_a ? comparison.a() : comparison.b();
    details.push_back(concat(op_of(dump, dump.rows()[clipped.row]).name, " of ", clipped.of_a ? "A" : "B", " clips ",
                             std::lround(100 * clipped.share), " % of what it quantises"));
  }
  const OpInfo& op_a = op_of(comparison.a(), comparison.a().rows()[culprit.row_a]);
  if (op_a.type != op_of(comparison.b(), comparison.b().rows()[culprit.row_b]).type) {
    details.push_back(concat("A computes it by ", record_name_of(comparison.a(), culprit.row_a), " (", op_a.type, ")"));
  }
  add_region(details, "A", comparison.table_a(), judgement.between_a);
  add_region(details, "B", comparison.table_b(), judgement.between_b);
}

}  // namespace

std::string culprit_text(const DumpComparison& comparison) {
  const std::optional<ComparedValue>& culprit = comparison.summary().culprit;
  return culprit ? finding_text(comparison, *culprit) : "";
}

std::string other_inputs_text(const DumpComparison& comparison) {
  const std::optional<OtherShape>& other = comparison.summary().other_shape;
  return other && other->given ? concat("inputs differ in shape: ", shapes_text(comparison, *other)) : "";
}

std::vector<std::string> culprit_details(const DumpComparison& comparison) {
  std::vector<std::string> details;
  const ComparisonSummary& summary = comparison.summary();
  if (!summary.outside() && !summary.has_open_ends()) return details;
  if (summary.culprit) add_culprit(details, comparison, *summary.culprit);
  if (summary.other_shape && !summary.other_shape->given) {
    details.push_back(concat("other shapes from here on: ", shapes_text(comparison, *summary.other_shape)));
  }
  for (const ComparedValue& one : summary.further) details.push_back(concat("also in ", finding_text(comparison, one)));
  return details;
}

}  // namespace tensortap
