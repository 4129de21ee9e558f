// The tree "demo": its names, its writer and its reader.

#ifndef TENSORTAP_SYSTEM_DEMO_TREE_TREE_H_
#define TENSORTAP_SYSTEM_DEMO_TREE_TREE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "layout/layout.h"

namespace tensortap::demo {

inline constexpr std::string_view kManifest = "demo.json";

// The file STEP/OP/SLOT.npy: OP is "12_conv1", with at most 100 bytes of the op's name; SLOT is "out0", and "out0.2" for the third record
// of that slot in its step.
struct SlotFile {
  bool is_input = false;
  uint32_t slot = 0;
  uint32_t times = 0;  // records of the slot before this one
};

// Functions of the layout's row.
Result<std::unique_ptr<LayoutWriter>> create_tree(const DumpInfo& info, const CaptureSpec& spec);
Confidence recognise_tree(const std::string& folder);
Result<std::unique_ptr<DumpIndex>> open_tree(const std::string& folder);

}  // namespace tensortap::demo

#endif  // TENSORTAP_SYSTEM_DEMO_TREE_TREE_H_
