#include "graph/edge_routes.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace tensortap {
namespace {

constexpr size_t kMostPieces = 8;   // of one way through one group, from either end
constexpr size_t kMostGroups = 32;  // that a line crosses the borders of, at either end
constexpr float kLoopInset = 6;

}  // namespace

// Leaves out the middle one of three points that are straight above each other.
void EdgeRoutes::add_point(float x, float y) {
  const size_t count = points_.size() - begin_;
  if (count >= 2 && points_[points_.size() - 2] == x && points_.back() == y) return;
  if (count >= 4 && points_[points_.size() - 2] == x && points_[points_.size() - 4] == x) {
    points_.back() = y;
    return;
  }
  points_.push_back(x);
  points_.push_back(y);
}

void EdgeRoutes::add_loop(OpId op) {
  const Box box = placed_.box(op);
  const float right = box.left + box.width;
  add_point(right - kLoopInset, box.bottom());
  add_point(right - kLoopInset, box.bottom() + kLoopInset);
  add_point(right + kLoopInset, box.bottom() + kLoopInset);
  add_point(right + kLoopInset, box.top - kLoopInset);
  add_point(right - kLoopInset, box.top - kLoopInset);
  add_point(right - kLoopInset, box.top);
}

void EdgeRoutes::follow(const PlacedGroups::Contents& contents, std::span<const PlacedGroup::Piece> pieces, uint32_t last_layer) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].first_layer > last_layer) return;
    if (i >= kMostPieces && i + kMostPieces < pieces.size()) continue;
    add_point(contents.left + pieces[i].x, contents.top + contents.group->piece_top(pieces[i]));
    add_point(contents.left + pieces[i].x, contents.top + contents.group->layer_bottom(std::min(pieces[i].last_layer, last_layer)));
  }
}

// From the lower edge of `unit` to that of `outer`, which it is in.
void EdgeRoutes::go_out(UnitId unit, UnitId outer) {
  const auto ops = static_cast<UnitId>(model_.ops().size());
  for (size_t groups = 0; unit != outer && groups < kMostGroups; ++groups) {
    const uint32_t group = placed_.group_of(unit);
    const PlacedGroups::Contents contents = placed_.contents(group);
    const uint32_t position = model_.graphs().position(unit);
    add_point(points_[points_.size() - 2], contents.top + contents.group->layer_bottom(contents.group->layer(position)));
    follow(contents, contents.group->down(position), GroupGraphs::kNone);
    unit = ops + group;
    add_point(points_[points_.size() - 2], placed_.box(unit).bottom());
  }
}

// From the upper edge of `outer` to that of `unit`, which is in it.
void EdgeRoutes::go_in(UnitId unit, UnitId outer) {
  struct Border {
    UnitId unit;
    float x;  // where the line crosses its upper edge
  };
  const auto ops = static_cast<UnitId>(model_.ops().size());
  std::vector<Border> borders = {{unit, placed_.box(unit).middle()}};
  while (borders.back().unit != outer && borders.size() <= kMostGroups) {
    const uint32_t group = placed_.group_of(borders.back().unit);
    const PlacedGroups::Contents contents = placed_.contents(group);
    const std::span<const PlacedGroup::Piece> up = contents.group->up(model_.graphs().position(borders.back().unit));
    borders.push_back({ops + group, up.empty() ? borders.back().x : contents.left + up.front().x});
  }
  for (size_t i = borders.size(); i-- > 0;) {
    add_point(borders[i].x, placed_.box(borders[i].unit).top);
    if (i == 0) return;
    const PlacedGroups::Contents contents = placed_.contents(borders[i].unit - ops);
    follow(contents, contents.group->up(model_.graphs().position(borders[i - 1].unit)), GroupGraphs::kNone);
  }
}

void EdgeRoutes::turn_round() {
  const auto line = points_.begin() + static_cast<std::ptrdiff_t>(begin_);
  std::reverse(line, points_.end());
  for (auto point = line; point != points_.end(); point += 2) std::iter_swap(point, point + 1);
}

bool EdgeRoutes::add(size_t op_edge) {
  begin_ = points_.size();
  const ModelEdge& edge = model_.edges()[op_edge];
  const GroupGraphs::Place place = model_.graphs().place(op_edge);
  if (place.group == GroupGraphs::kNone) {
    add_loop(edge.from);
    return true;
  }
  const UnitEdge& between = model_.graphs().edges(place.group)[place.edge];
  const std::span<const UnitId> units = model_.graphs().units(place.group);
  const UnitId upper = placed_.shown(between.back ? edge.to : edge.from);
  const UnitId lower = placed_.shown(between.back ? edge.from : edge.to);
  add_point(placed_.box(upper).middle(), placed_.box(upper).bottom());
  go_out(upper, units[between.upper()]);
  const PlacedGroups::Contents contents = placed_.contents(place.group);
  add_point(points_[points_.size() - 2], contents.top + contents.group->layer_bottom(contents.group->layer(between.upper())));
  follow(contents, contents.group->down(between.upper()), contents.group->layer(between.lower()) - 1);
  go_in(lower, units[between.lower()]);
  if (between.back) turn_round();
  return between.back;
}

}  // namespace tensortap
