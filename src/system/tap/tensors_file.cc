#include "system/tap/tensors_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>

#include "base/size_signal.h"
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

Status TensorsFile::write_small(const ZipMember& member, std::string_view npy_header, std::span<const std::byte> data) {
  const std::string head = make_local_header(member) + std::string(npy_header);
  // writev() takes pointers to non-const and only reads.
  std::array<iovec, 2> parts = {iovec{const_cast<char*>(head.data()), head.size()},
                                iovec{const_cast<std::byte*>(data.data()), data.size()}};
  ssize_t written = 0;
  do {
    written =
        without_size_signal([&] { return pwritev(file_.fd(), parts.data(), data.empty() ? 1 : 2, static_cast<off_t>(member.offset)); });
  } while (written < 0 && errno == EINTR);
  if (written < 0 && errno != EIO) return errno_status(file_.path(), errno);
  // What is left, which is everything after an error of the device, goes the way that tries again.
  const auto done = static_cast<uint64_t>(std::max<ssize_t>(written, 0));
  if (done < head.size()) TENSORTAP_RETURN_IF_ERROR(file_.write_at(member.offset + done, after(std::as_bytes(std::span(head)), done)));
  const uint64_t data_done = std::max<uint64_t>(done, head.size()) - head.size();
  return file_.write_at(member.offset + head.size() + data_done, after(data, data_done));
}

// Data first, headers last: after a crash a local header never speaks of bytes that are not there.
Status TensorsFile::write_large(ZipMember& member, std::string_view npy_header, std::span<const std::byte> data) {
  const uint64_t header_size = local_header_size(member);
  uint64_t at = member.offset + header_size + npy_header.size();
  while (!data.empty()) {
    const std::span<const std::byte> block = first_of(data, kCheckedBlock);
    member.crc = zip_crc(member.crc, block);
    TENSORTAP_RETURN_IF_ERROR(file_.write_at(at, block));
    at += block.size();
    data = after(data, block.size());
  }
  const std::string head = make_local_header(member) + std::string(npy_header);
  return file_.write_at(member.offset, std::as_bytes(std::span(head)));
}

Status TensorsFile::write(ZipMember& member, std::string_view npy_header, std::span<const std::byte> data) {
  member.crc = zip_crc(0, std::as_bytes(std::span(npy_header)));
  if (data.size() > kSmall) return write_large(member, npy_header, data);
  member.crc = zip_crc(member.crc, data);
  return write_small(member, npy_header, data);
}

// Called before anything makes the file longer, which would hide that another program cut it.
void TensorsFile::notice_cut() {
  const Result<uint64_t> size = file_.size();
  if (!size.ok() || *size >= end_.load(std::memory_order_relaxed)) return;
  const auto first = std::ranges::upper_bound(ends_, *size) - ends_.begin();
  std::fill(gone_.begin() + first, gone_.end(), true);
}

// A cut between that look and the end of the write behind it leaves a hole. A member in a hole lacks its header, whose first byte is not 0.
void TensorsFile::find_holes() {
  const off_t hole = ::lseek(file_.fd(), 0, SEEK_HOLE);
  if (hole < 0 || static_cast<uint64_t>(hole) >= end_.load(std::memory_order_relaxed)) return;
  for (size_t i = 0; i < ends_.size(); ++i) {
    std::array<std::byte, 1> first{};
    const Status read = file_.read_at(i == 0 ? 0 : ends_[i - 1], first);
    if (read.ok() && first[0] == std::byte{0}) gone_[i] = true;
  }
}

Result<TensorsFile::Place> TensorsFile::append(std::string_view name, std::string_view npy_header, std::span<const std::byte> data) {
  notice_cut();
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
    status = write(member, npy_header, data);
    if (!status.ok()) {
      (void)file_.truncate(begin);
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
  (void)file_.truncate(place.header_offset);
  room_.give_back(last_taken_);
  end_.store(place.header_offset, std::memory_order_relaxed);
  names_.erase(std::hash<std::string_view>{}(last_name_));
  has_last_ = false;
  ends_.pop_back();
  gone_.pop_back();
}

Status TensorsFile::finish() {
  notice_cut();
  find_holes();
  if (has_last_) directory_.add(last_);
  has_last_ = false;
  const uint64_t end = end_.load(std::memory_order_relaxed);
  const std::string text = directory_.finish(end);
  if (Status status = file_.write_at(end, std::as_bytes(std::span(text))); !status.ok()) {
    (void)file_.truncate(end);
    return status;
  }
  end_.store(end + text.size(), std::memory_order_relaxed);
  return {};
}

}  // namespace tensortap::tap
