#include "query/slot_placements.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "trace/record_row.h"

namespace tensortap {
namespace {

constexpr std::string_view kPlacements = "placements";
constexpr size_t kMostDims = 8;
constexpr size_t kMostMembers = size_t{1} << 20;

const Json* found(const Json& json, std::string_view name) {
  if (!json.is_object()) return nullptr;
  const auto at = json.find(name);
  return at == json.end() ? nullptr : &*at;
}

std::vector<std::string> texts_of(const Json* list) {
  std::vector<std::string> texts;
  if (list == nullptr || !list->is_array()) return texts;
  for (const Json& one : *list) texts.push_back(one.is_string() ? one.get<std::string>() : "");
  return texts;
}

// "in0", "in0[3]".
bool parse_place(std::string_view text, SlotPlacement& placement) {
  const size_t bracket = text.find('[');
  SlotKind kind = SlotKind::kOutput;
  if (!parse_slot(text.substr(0, bracket), kind, placement.slot) || kind != SlotKind::kInput) return false;
  if (bracket == std::string_view::npos) return true;
  return text.ends_with(']') && parse_integer(text.substr(bracket + 1, text.size() - bracket - 2), placement.element);
}

// Fills `mesh` from nested lists of equal lengths; false when they are not.
bool add_ranks(const Json& list, size_t depth, DeviceMesh& mesh) {
  if (!list.is_array() || list.empty() || depth == kMostDims) return false;
  if (mesh.dims.size() == depth) mesh.dims.push_back(list.size());
  if (mesh.dims[depth] != list.size()) return false;
  for (const Json& one : list) {
    if (one.is_array()) {
      if (!add_ranks(one, depth + 1, mesh)) return false;
    } else if (!one.is_number_integer() || depth + 1 != mesh.dims.size() || mesh.ranks.size() == kMostMembers) {
      return false;
    } else {
      mesh.ranks.push_back(one.get<int64_t>());
    }
  }
  return true;
}

}  // namespace

bool SlotPlacement::is_shard() const {
  return std::ranges::any_of(placements, [](const std::string& one) { return one.starts_with("S(") || one.starts_with("_S"); });
}

Json placements_json(const OpInfo& op) {
  if (op.attributes.find(kPlacements) == std::string::npos) return {};
  const auto attributes = parse_json(op.attributes, "attributes");
  const Json* told = attributes.ok() ? found(*attributes, kPlacements) : nullptr;
  return told == nullptr ? Json() : *told;
}

std::vector<SlotPlacement> placements_of(const OpInfo& op) {
  std::vector<SlotPlacement> all;
  const Json told = placements_json(op);
  if (!told.is_object()) return all;
  for (const auto& [place, one] : told.items()) {
    SlotPlacement placement;
    const Json* mesh = found(one, "mesh");
    if (mesh == nullptr || !mesh->is_number_unsigned() || !parse_place(place, placement)) continue;
    placement.mesh = mesh->get<size_t>();
    placement.placements = texts_of(found(one, kPlacements));
    const Json* shape = found(one, "shape");
    for (const Json& size : shape != nullptr && shape->is_array() ? *shape : Json::array()) {
      placement.shape.push_back(size.is_number_integer() ? size.get<int64_t>() : -1);
    }
    all.push_back(std::move(placement));
  }
  return all;
}

bool reads_shards(const OpInfo& op) { return std::ranges::any_of(placements_of(op), &SlotPlacement::is_shard); }

std::vector<DeviceMesh> meshes_of(std::string_view manifest) {
  std::vector<DeviceMesh> meshes;
  const auto parsed = parse_json(manifest, "manifest");
  const Json* runtime = parsed.ok() ? found(*parsed, "runtime") : nullptr;
  const Json* told = runtime == nullptr ? nullptr : found(*runtime, "meshes");
  if (told == nullptr || !told->is_array()) return meshes;
  for (const Json& one : *told) {
    DeviceMesh& mesh = meshes.emplace_back();
    const Json* ranks = found(one, "ranks");
    mesh.names = texts_of(found(one, "dims"));
    if (ranks == nullptr || !add_ranks(*ranks, 0, mesh)) mesh = {};
  }
  return meshes;
}

}  // namespace tensortap
