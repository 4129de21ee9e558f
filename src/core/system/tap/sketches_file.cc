#include "system/tap/sketches_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

Result<File> create_table(const Folder& folder, std::string_view name, Access access, const std::string& header) {
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder.open_file(name, O_RDWR | O_CREAT | O_EXCL, access));
  TENSORTAP_RETURN_IF_ERROR(file.write_at(0, std::as_bytes(std::span(header))));
  return file;
}

uint64_t rows_in(std::span<const std::byte> bytes, uint64_t row_bytes) {
  return bytes.size() < kSketchesBegin ? 0 : (bytes.size() - kSketchesBegin) / row_bytes;
}

}  // namespace

Status SketchesFile::add(uint64_t sequence, const TensorSketch& sketch) {
  const uint64_t bytes = sizeof(SketchRow) + sketch.channels.size() * sizeof(ChannelSums);
  TENSORTAP_RETURN_IF_ERROR(room_.take(bytes));
  const std::lock_guard lock(mutex_);
  Status status = add_locked(sequence, sketch);
  if (status.ok()) {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  } else {
    room_.give_back(bytes);
  }
  return status;
}

Status SketchesFile::add_locked(uint64_t sequence, const TensorSketch& sketch) {
  if (!rows_file_.is_open()) {
    TENSORTAP_ASSIGN_OR_RETURN(rows_file_, create_table(folder_, kSketchesFile, access_, make_sketches_header(0)));
  }
  if (!sketch.channels.empty()) {
    if (!channels_file_.is_open()) {
      TENSORTAP_ASSIGN_OR_RETURN(channels_file_, create_table(folder_, kChannelsFile, access_, make_channels_header(0)));
    }
    TENSORTAP_RETURN_IF_ERROR(
        channels_cut_.append(channels_file_, kSketchesBegin + channels_ * sizeof(ChannelSums), std::as_bytes(std::span(sketch.channels))));
  }
  SketchRow row;
  row.sequence = sequence;
  row.first_channel = channels_;
  row.channels = sketch.channels.size();
  row.channel_elements = sketch.channel_elements;
  row.axis = sketch.axis;
  row.block = sketch.block;
  row.blocks = sketch.blocks;
  Status status = rows_cut_.append(rows_file_, kSketchesBegin + rows_ * sizeof(SketchRow), std::as_bytes(std::span(&row, 1)));
  if (!status.ok()) {
    if (channels_file_.is_open()) (void)channels_file_.truncate(kSketchesBegin + channels_ * sizeof(ChannelSums));
    return status;
  }
  ++rows_;
  channels_ += sketch.channels.size();
  return {};
}

void SketchesFile::tell_files(std::vector<WrittenFile>& files) const {
  if (rows_file_.is_open())
    files.push_back({std::string(kSketchesFile), &rows_file_, kSketchesBegin + rows_ * sizeof(SketchRow), rows_, rows_cut_.seen(), rows_});
  if (channels_file_.is_open())
    files.push_back({std::string(kChannelsFile), &channels_file_, kSketchesBegin + channels_ * sizeof(ChannelSums), channels_,
                     channels_cut_.seen(), rows_});
}

Status SketchesFile::flush() {
  const std::lock_guard lock(mutex_);
  if (rows_file_.is_open()) {
    const std::string header = make_sketches_header(rows_);
    TENSORTAP_RETURN_IF_ERROR(rows_file_.write_at(0, std::as_bytes(std::span(header))));
  }
  if (!channels_file_.is_open()) return {};
  const std::string header = make_channels_header(channels_);
  return channels_file_.write_at(0, std::as_bytes(std::span(header)));
}

SketchIndex::SketchIndex(std::span<const std::byte> rows, std::span<const std::byte> channels) : rows_(rows), channels_(channels) {
  const uint64_t count = rows_in(rows, sizeof(SketchRow));
  by_sequence_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t sequence = 0;
    std::memcpy(&sequence, rows.data() + kSketchesBegin + i * sizeof(SketchRow) + offsetof(SketchRow, sequence), sizeof(sequence));
    by_sequence_.emplace_back(sequence, i);
  }
  std::ranges::sort(by_sequence_);
}

Result<TensorSketch> SketchIndex::find(uint64_t sequence) const {
  const auto found = std::ranges::lower_bound(by_sequence_, sequence, {}, &std::pair<uint64_t, uint64_t>::first);
  if (found == by_sequence_.end() || found->first != sequence) return not_found(concat(kSketchesFile, " has no row of the record"));
  SketchRow row;
  std::memcpy(&row, rows_.data() + kSketchesBegin + found->second * sizeof(SketchRow), sizeof(row));
  const uint64_t available = rows_in(channels_, sizeof(ChannelSums));
  if (row.channels > kMostChannels || row.channels > available || row.first_channel > available - row.channels)
    return corrupt(concat(kSketchesFile, ": the channels of the record lie outside ", kChannelsFile));
  const bool known_block = row.block == 0 || std::ranges::find(kSketchBlocks, row.block) != kSketchBlocks.end();
  if (!known_block || row.axis < -1 || row.axis >= kMaxRank || (row.axis < 0 && row.channels > 0))
    return corrupt(concat(kSketchesFile, ": the row of the record makes no sense"));
  TensorSketch sketch;
  sketch.axis = row.axis;
  sketch.block = row.block;
  sketch.channel_elements = row.channel_elements;
  sketch.blocks = row.blocks;
  sketch.channels.resize(row.channels);
  if (row.channels > 0)
    std::memcpy(sketch.channels.data(), channels_.data() + kSketchesBegin + row.first_channel * sizeof(ChannelSums),
                row.channels * sizeof(ChannelSums));
  return sketch;
}

}  // namespace tensortap::tap
