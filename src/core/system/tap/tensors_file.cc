#include "system/tap/tensors_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/spans.h"
#include "base/text.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

constexpr uint64_t kPageFrom = uint64_t{64} << 10;  // tensors from this size on begin at a page
constexpr uint64_t kPage = 4096;
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kSmall = uint64_t{256} << 10;         // one system call up to here
constexpr uint64_t kCheckedBlock = uint64_t{512} << 10;  // still in the cache when it is written after its CRC was computed
constexpr size_t kExtensionSize = 4;
constexpr int kTries = 3;
constexpr uint64_t kWriteBackAtOnce = uint64_t{16} << 20;

}  // namespace

Result<std::unique_ptr<TensorsFile>> TensorsFile::create(const Folder& folder, Access access, DumpRoom& room) {
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder.open_file(kTensorsFile, O_RDWR | O_CREAT | O_EXCL, access));
  return std::unique_ptr<TensorsFile>(new TensorsFile(std::move(file), room));
}

std::string TensorsFile::unique_name(std::string_view name) {
  std::string candidate(name);
  for (uint64_t number = 2; !names_.insert(std::hash<std::string_view>{}(candidate)).second; ++number) {
    candidate = concat(name.substr(0, name.size() - kExtensionSize), "~", number, name.substr(name.size() - kExtensionSize));
  }
  return candidate;
}

// Adds to the file, whose end must be at `at`.
Status TensorsFile::add(uint64_t at, std::span<const std::byte> first, std::span<const std::byte> second) {
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t begin, file_.append(first, second));
  if (begin == at) return {};
  was_moved_ = true;
  put_back_end(begin);
  return io_error(concat(file_.path(), ": another program changes its size"));
}

Status TensorsFile::write_small(const ZipMember& member, std::string_view npy_header, std::span<const std::byte> data) {
  const std::string head = make_local_header(member) + std::string(npy_header);
  return add(member.offset, std::as_bytes(std::span(head)), data);
}

// Data first, headers last: after a crash a local header never describes bytes that are missing.
Status TensorsFile::write_large(ZipMember& member, std::string_view npy_header, std::span<const std::byte> data) {
  const std::string place(local_header_size(member) + npy_header.size(), '\0');
  TENSORTAP_RETURN_IF_ERROR(add(member.offset, std::as_bytes(std::span(place)), {}));
  uint64_t at = member.offset + place.size();
  while (!data.empty()) {
    const std::span<const std::byte> block = first_of(data, kCheckedBlock);
    member.crc = zip_crc(member.crc, block);
    TENSORTAP_RETURN_IF_ERROR(add(at, block, {}));
    at += block.size();
    data = after(data, block.size());
  }
  const std::string head = make_local_header(member) + std::string(npy_header);
  return file_.write_at(member.offset, std::as_bytes(std::span(head)));
}

// Again where another program changed the file meanwhile, since the file ends at the last member again then.
Status TensorsFile::write_whole(ZipMember& member, std::string_view npy_header, std::span<const std::byte> data) {
  Status status;
  for (int tries = 0; tries < kTries; ++tries) {
    was_moved_ = false;
    status = write(member, npy_header, data);
    if (status.ok() || !was_moved_) break;
  }
  return status;
}

Status TensorsFile::write(ZipMember& member, std::string_view npy_header, std::span<const std::byte> data) {
  member.crc = zip_crc(0, std::as_bytes(std::span(npy_header)));
  if (data.size() > kSmall) return write_large(member, npy_header, data);
  member.crc = zip_crc(member.crc, data);
  return write_small(member, npy_header, data);
}

// Another program changed the file, so that it ended at `found` and not where the last member does.
void TensorsFile::put_back_end(uint64_t found) {
  const uint64_t end = end_.load(std::memory_order_relaxed);
  const auto first = std::ranges::upper_bound(ends_, found) - ends_.begin();
  std::fill(gone_.begin() + first, gone_.end(), true);
  // What was written behind a cut must not pass for members before it.
  if (found < end) (void)file_.truncate(found);
  (void)file_.truncate(end);
}

// Makes the file end at the last member again, and notices what it lost.
void TensorsFile::look_at_end() {
  const Result<uint64_t> size = file_.size();
  if (size.ok() && *size != end_.load(std::memory_order_relaxed)) put_back_end(*size);
}

Result<TensorsFile::Place> TensorsFile::append(std::string_view name, std::string_view npy_header, std::span<const std::byte> data) {
  if (has_last_) directory_.add(last_);
  has_last_ = false;
  last_name_ = unique_name(name);
  const uint64_t begin = end_.load(std::memory_order_relaxed);
  ZipMember member{.name = last_name_,
                   .offset = begin,
                   .size = npy_header.size() + data.size(),
                   .prefix = npy_header.size(),
                   .alignment = data.size() >= kPageFrom ? kPage : kAlignment};
  const uint64_t content = begin + local_header_size(member);
  last_taken_ = content + member.size - begin + ZipDirectory::most_bytes(last_name_);
  Status status = room_.take(last_taken_);
  if (status.ok()) {
    status = write_whole(member, npy_header, data);
    if (!status.ok()) {
      look_at_end();
      room_.give_back(last_taken_);
    }
  }
  if (!status.ok()) {
    names_.erase(std::hash<std::string_view>{}(last_name_));
    return status;
  }
  last_ = member;
  has_last_ = true;
  end_.store(content + member.size, std::memory_order_relaxed);
  ends_.push_back(content + member.size);
  gone_.push_back(false);
  start_writing_back();
  return Place{begin, content + npy_header.size(), directory_.count()};
}

// The system would keep gigabytes in memory before it wrote any: the disk works while the program runs, not when the dump ends.
void TensorsFile::start_writing_back() {
  const uint64_t whole = end_.load(std::memory_order_relaxed) / kWriteBackAtOnce * kWriteBackAtOnce;
  if (whole <= written_back_) return;
  const auto bytes = static_cast<off_t>(whole - written_back_);
  (void)sync_file_range(file_.fd(), static_cast<off_t>(written_back_), bytes, SYNC_FILE_RANGE_WRITE);
  written_back_ = whole;
}

void TensorsFile::undo(const Place& place) {
  if (!has_last_ || last_.offset != place.header_offset) return;
  look_at_end();
  end_.store(place.header_offset, std::memory_order_relaxed);
  look_at_end();
  room_.give_back(last_taken_);
  names_.erase(std::hash<std::string_view>{}(last_name_));
  has_last_ = false;
  ends_.pop_back();
  gone_.pop_back();
}

Status TensorsFile::finish() {
  look_at_end();
  if (has_last_) directory_.add(last_);
  has_last_ = false;
  const uint64_t end = end_.load(std::memory_order_relaxed);
  const std::string text = directory_.finish(end);
  if (Status status = add(end, std::as_bytes(std::span(text)), {}); !status.ok()) {
    look_at_end();
    return status;
  }
  end_.store(end + text.size(), std::memory_order_relaxed);
  return {};
}

}  // namespace tensortap::tap
