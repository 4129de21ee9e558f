#include "compare/difference_json.h"

#include <algorithm>
#include <vector>

#include "base/json.h"

namespace tensortap {
namespace {

Json counts_json(const NonFiniteCounts& counts) { return {{"nan", counts.nan}, {"pos_inf", counts.pos_inf}, {"neg_inf", counts.neg_inf}}; }

}  // namespace

Json coordinates_json(const RecordRow& row, std::optional<uint64_t> index) {
  if (!index) return nullptr;
  const TensorDesc desc = row.desc();
  std::vector<int64_t> place(desc.shape.dims().begin(), desc.shape.dims().end());
  uint64_t rest = *index;
  for (size_t i = place.size(); i-- > 0;) {
    const auto size = static_cast<uint64_t>(std::max<int64_t>(place[i], 1));
    place[i] = static_cast<int64_t>(rest % size);
    rest /= size;
  }
  return place;
}

void add_difference(Json& json, const RecordRow& of_a, const Difference& difference) {
  const bool differs = difference.differing > 0;
  json["bit_equal"] = difference.bit_equal;
  json["compared"] = difference.compared;
  json["differing"] = difference.differing;
  json["first_differing"] = coordinates_json(of_a, difference.first_differing);
  json["max_abs"] = json_number(difference.max_abs);
  json["max_abs_at"] = differs ? coordinates_json(of_a, difference.max_abs_at) : Json(nullptr);
  json["max_rel"] = json_number(difference.max_rel);
  json["max_rel_at"] = differs ? coordinates_json(of_a, difference.max_rel_at) : Json(nullptr);
  json["mean"] = json_number(difference.mean);
  json["mean_abs"] = json_number(difference.mean_abs);
  json["rmse"] = json_number(difference.rmse);
  json["relative_l2"] = json_number(difference.relative_l2);
  json["cosine"] = json_number(difference.cosine);
  json["snr_db"] = json_number(difference.snr_db);
  json["max_ulp"] = difference.max_ulp;
  json["ulp_histogram"] = difference.ulp_histogram;
  json["outside"] = difference.outside;
  json["share_within_1e_3"] = json_number(difference.share_within_1e_3);
  json["share_within_5e_3"] = json_number(difference.share_within_5e_3);
  json["nonfinite_a"] = counts_json(difference.nonfinite_a);
  json["nonfinite_b"] = counts_json(difference.nonfinite_b);
  json["nonfinite_differing"] = difference.nonfinite_differing;
  json["first_nonfinite_differing"] = coordinates_json(of_a, difference.first_nonfinite_differing);
  json["zero_a_only"] = difference.zero_a_only;
  json["zero_b_only"] = difference.zero_b_only;
  if (!difference.narrowed) return;
  const NarrowedDifference& narrowed = *difference.narrowed;
  json["narrowed"] = {{"dtype", dtype_name(narrowed.dtype)},
                      {"differing", narrowed.differing},
                      {"max_abs", json_number(narrowed.max_abs)},
                      {"relative_l2", json_number(narrowed.relative_l2)}};
}

}  // namespace tensortap
