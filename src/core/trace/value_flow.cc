#include "trace/value_flow.h"

#include <algorithm>

namespace tensortap {
namespace {

// Equal for the same elements of one content in the same order, seen as the same type and shape.
uint64_t look_of(const RecordRow& row) {
  uint64_t look = row.view;
  const auto add = [&look](uint64_t word) { look = (look ^ look >> 29U) * 0x9e3779b97f4a7c15U + word; };
  add(row.dtype);
  add(row.dims_count);
  const TensorDesc desc = row.desc();
  for (const int64_t size : desc.shape.dims()) add(static_cast<uint64_t>(size));
  return look;
}

ValueMaker maker_of(const RecordRow& row) { return {row.op, row.slot_index, row.element}; }

}  // namespace

size_t ValueFlow::PlaceHash::operator()(const Place& place) const {
  const uint64_t hash = (uint64_t{place.op} << 16U | place.slot) * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(place.element);
  return static_cast<size_t>(hash ^ hash >> 29U);
}

ValueFlow::Block& ValueFlow::block_of(const RecordRow& row) {
  if (blocks_.size() >= limit_) forget_unused();
  Block& block = blocks_[row.storage];
  if (block.version != row.version) block.made.clear();
  block.version = row.version;
  block.used = now_;
  return block;
}

void ValueFlow::forget_unused() {
  std::erase_if(blocks_, [this](const auto& one) { return one.second.used <= forgot_; });
  forgot_ = now_;
  limit_ = blocks_.size() + kMostBlocks;
}

void ValueFlow::see(const RecordRow& row) {
  if (row.storage == 0 || row.op == kNoOp) return;
  ++now_;
  const auto kind = static_cast<SlotKind>(row.slot_kind);
  if (kind == SlotKind::kOutput) {
    add_maker(block_of(row), row);
  } else if (kind == SlotKind::kInput) {
    add_read(block_of(row), row);
  }
}

void ValueFlow::add_maker(Block& block, const RecordRow& row) {
  const Made made{maker_of(row), look_of(row)};
  // A view that is returned again becomes the newest again; the origin of the content stays first.
  if (const auto again = std::ranges::find(block.made, made); again != block.made.end()) {
    if (again != block.made.begin()) std::rotate(again, again + 1, block.made.end());
    return;
  }
  if (block.made.size() >= kMostMakers) block.made.erase(block.made.begin() + 1);
  block.made.push_back(made);
}

ValueMaker ValueFlow::maker_of_view(Block& block, uint64_t look) {
  if (block.made.empty()) block.made.push_back({{}, look});
  const auto newest = std::ranges::find(block.made.rbegin(), block.made.rend(), look, &Made::look);
  return newest == block.made.rend() ? block.made.front().maker : newest->maker;
}

uint32_t ValueFlow::outside_number(Block& block, const RecordRow& row) {
  if (block.outside == kMadeByAnOp) {
    block.outside = static_cast<uint32_t>(outside_.size());
    outside_.push_back({row.op, row.slot_index, row.element, row.desc(), false});
  }
  return block.outside;
}

void ValueFlow::add_read(Block& block, const RecordRow& row) {
  const ValueMaker maker = maker_of_view(block, look_of(row));
  if (row.op >= reads_.size()) reads_.resize(size_t{row.op} + 1);
  std::vector<Read>& reads = reads_[row.op];
  const auto [place, is_new] = places_.try_emplace({row.op, row.slot_index, row.element}, reads.size());
  if (is_new) {
    const uint32_t outside = maker.op == kNoOp ? outside_number(block, row) : kMadeByAnOp;
    reads.push_back({row.slot_index, row.element, row.desc(), maker, outside, {}});
    ++learned_;
  }
  if (maker.op == kNoOp && block.outside != kMadeByAnOp && row.phase == static_cast<uint8_t>(Phase::kUpdate)) {
    outside_[block.outside].updated = true;
  }
  if (is_new) return;
  Read& read = reads[place->second];
  if (maker.op == kNoOp || maker == read.maker || read.others.size() >= kMostOthers) return;
  if (std::ranges::find(read.others, maker) != read.others.end()) return;
  read.others.push_back(maker);
  ++learned_;
}

std::span<const ValueFlow::Read> ValueFlow::reads(OpId op) const {
  if (op >= reads_.size()) return {};
  return reads_[op];
}

}  // namespace tensortap
