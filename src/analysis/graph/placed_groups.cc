#include "graph/placed_groups.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr float kCharacter = 7;  // of the page's font
constexpr float kPadding = 24;
constexpr float kNarrowest = 64;
constexpr float kWidest = 240;         // longer names are cut by the page
constexpr float kWidestPseudoOp = 96;  // weights are drawn beside each other, and there are many
constexpr float kOpHeight = 28;
constexpr float kGroupHeight = 44;
constexpr float kMargin = 16;  // between the box of an open group and its contents
constexpr float kTitle = 24;   // above them

// Measures only the first characters: names from untrusted files may be very long.
float text_width(std::string_view text) {
  const std::string_view beginning = text.substr(0, 256);
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  return kCharacter * static_cast<float>(beginning.size() - static_cast<size_t>(std::ranges::count_if(beginning, continues)));
}

float top_margin(uint32_t group) { return group == 0 ? kMargin : kMargin + kTitle; }

}  // namespace

PlacedGroups::PlacedGroups(const GraphModel& model, const std::vector<bool>& open)
    : model_(model), number_of_(open.size(), kClosed), hidden_in_(open.size(), kClosed) {
  for (uint32_t group = 0; group < open.size(); ++group) {
    if (open[group]) {
      number_of_[group] = static_cast<uint32_t>(open_.size());
      open_.push_back(group);
    } else {
      const uint32_t above = model.tree().parent(group);
      hidden_in_[group] = open[above] ? group : hidden_in_[above];
    }
  }
  place_contents();
  place_boxes();
}

UnitId PlacedGroups::shown(OpId op) const {
  const uint32_t hidden_in = hidden_in_[model_.group_of(op)];
  return hidden_in == kClosed ? op : static_cast<UnitId>(model_.ops().size()) + hidden_in;
}

uint32_t PlacedGroups::group_of(UnitId unit) const {
  const auto ops = static_cast<uint32_t>(model_.ops().size());
  return unit < ops ? model_.group_of(unit) : model_.tree().parent(unit - ops);
}

BoxSize PlacedGroups::closed_size(UnitId unit) const {
  const auto ops = static_cast<uint32_t>(model_.ops().size());
  const bool is_op = unit < ops;
  const std::string_view name = is_op ? model_.name(unit) : model_.groups()[unit - ops].name;
  const std::string_view type = is_op ? std::string_view(model_.ops()[unit].type) : model_.groups()[unit - ops].type;
  const float width = std::max(text_width(name), text_width(type)) + kPadding;
  const float widest = is_op && is_pseudo_op(model_.ops()[unit]) ? kWidestPseudoOp : kWidest;
  return {std::clamp(width, kNarrowest, widest), is_op ? kOpHeight : kGroupHeight};
}

GroupContents PlacedGroups::contents_of(uint32_t group) const {
  const GroupGraphs& graphs = model_.graphs();
  GroupContents contents;
  contents.edges = graphs.edges(group);
  for (const UnitId unit : graphs.units(group)) {
    contents.widths.push_back(closed_size(unit).width);
    contents.enters.push_back(graphs.enters(unit, group));
    contents.leaves.push_back(graphs.leaves(unit, group));
  }
  return contents;
}

// Inner groups first: what is around them needs their sizes.
void PlacedGroups::place_contents() {
  const auto ops = static_cast<uint32_t>(model_.ops().size());
  boxes_.resize(open_.size());
  std::vector<PlacedGroup> inner_first;
  for (size_t number = open_.size(); number-- > 0;) {
    const uint32_t group = open_[number];
    std::vector<BoxSize> sizes;
    for (const UnitId unit : model_.graphs().units(group)) {
      const bool is_open_group = unit >= ops && is_open(unit - ops);
      const Box* box = is_open_group ? &boxes_[number_of_[unit - ops]] : nullptr;
      sizes.push_back(box != nullptr ? BoxSize{box->width, box->height} : closed_size(unit));
    }
    inner_first.emplace_back(lay_out(contents_of(group)), sizes);
    const BoxSize inside = inner_first.back().size();
    const BoxSize closed = group == 0 ? BoxSize() : closed_size(ops + group);
    boxes_[number].width = std::max(inside.width + 2 * kMargin, closed.width);
    boxes_[number].height = inside.height + top_margin(group) + kMargin;
  }
  std::ranges::reverse(inner_first);
  placed_ = std::move(inner_first);
  size_ = {boxes_[0].width, boxes_[0].height};
}

void PlacedGroups::place_boxes() {
  const auto ops = static_cast<uint32_t>(model_.ops().size());
  for (size_t number = 1; number < open_.size(); ++number) {
    const Contents around = contents(model_.tree().parent(open_[number]));
    const uint32_t position = model_.graphs().position(ops + open_[number]);
    boxes_[number].left = around.left + around.group->left(position);
    boxes_[number].top = around.top + around.group->top(position);
  }
}

PlacedGroups::Contents PlacedGroups::contents(uint32_t group) const {
  const uint32_t number = number_of_[group];
  return {&placed_[number], boxes_[number].left + kMargin, boxes_[number].top + top_margin(group)};
}

Box PlacedGroups::box(UnitId unit) const {
  const auto ops = static_cast<uint32_t>(model_.ops().size());
  if (unit >= ops && is_open(unit - ops)) return boxes_[number_of_[unit - ops]];
  const Contents around = contents(group_of(unit));
  const uint32_t position = model_.graphs().position(unit);
  const BoxSize size = closed_size(unit);
  return {around.left + around.group->left(position), around.top + around.group->top(position), size.width, size.height};
}

}  // namespace tensortap
