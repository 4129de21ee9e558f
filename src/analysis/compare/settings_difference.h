// The settings of the two programs that change numbers, as far as their manifests tell them: precision of products, threads, kernels, the
// way of torch.compile. A difference in them says how the programs were run. It explains no difference of a value and excuses none.

#ifndef TENSORTAP_COMPARE_SETTINGS_DIFFERENCE_H_
#define TENSORTAP_COMPARE_SETTINGS_DIFFERENCE_H_

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "trace/dump_index.h"

namespace tensortap {

struct SettingDifference {
  std::string name;
  std::string a;  // the value at the end; where the program changed it, all values that were seen: "highest, then high"
  std::string b;
};

// Sorted by name; none for dumps of two runtimes. Settings that one of the dumps does not know are left out. Accepts manifests with any
// content.
std::vector<SettingDifference> settings_difference(const DumpIndex& a, const DumpIndex& b);

// "settings differ: threads 1 in A, 4 in B; torch_compile not used in A, inductor-nodes in B", and how many more there are; "" where none
// differs.
std::string settings_text(const std::vector<SettingDifference>& differences);

// [{"name", "a", "b"}]
Json settings_json(const std::vector<SettingDifference>& differences);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_SETTINGS_DIFFERENCE_H_
