// TensorsFile: tensors.npz while it is written.

#ifndef TENSORTAP_SYSTEM_TAP_TENSORS_FILE_H_
#define TENSORTAP_SYSTEM_TAP_TENSORS_FILE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/files.h"
#include "base/folder.h"
#include "base/status.h"
#include "format/npz/zip_archive.h"
#include "layout/dump_room.h"

namespace tensortap::tap {

// Appends stored members. One thread; bytes_written() from any.
class TensorsFile {
 public:
  // Creates tensors.npz; it must not exist. `room` accounts for the bytes that it appends, and outlives this.
  static Result<std::unique_ptr<TensorsFile>> create(const Folder& folder, Access access, DumpRoom& room);

  // The place of a member's content.
  struct Place {
    uint64_t header_offset = 0;
    uint64_t data_offset = 0;  // of `data`, after the npy header
    uint64_t member = 0;       // from 0
  };
  // Appends a member of an npy header and packed data. `name` ends in ".npy"; when it is taken, "~2" is put before that. After an error
  // nothing of the member is left in the file, also when there is no room for it.
  Result<Place> append(std::string_view name, std::string_view npy_header, std::span<const std::byte> data);
  // Takes the last member back; `place` is what append() gave.
  void undo(const Place& place);
  // Writes the central directory. Once, last.
  Status finish();
  [[nodiscard]] uint64_t members() const { return directory_.count() + (has_last_ ? 1 : 0); }
  // Members that went when another program cut the file.
  [[nodiscard]] uint64_t gone() const { return static_cast<uint64_t>(std::ranges::count(gone_, true)); }
  [[nodiscard]] const File& file() const { return file_; }
  [[nodiscard]] uint64_t bytes_written() const { return end_.load(std::memory_order_relaxed); }

 private:
  TensorsFile(File file, DumpRoom& room) : file_(std::move(file)), room_(room) {}
  Status write_whole(ZipMember& member, std::string_view npy_header, std::span<const std::byte> data);
  Status write(ZipMember& member, std::string_view npy_header, std::span<const std::byte> data);
  std::string unique_name(std::string_view name);
  Status add(uint64_t at, std::span<const std::byte> first, std::span<const std::byte> second);
  void put_back_end(uint64_t found);
  void look_at_end();
  void start_writing_back();
  Status write_small(const ZipMember& member, std::string_view npy_header, std::span<const std::byte> data);
  Status write_large(ZipMember& member, std::string_view npy_header, std::span<const std::byte> data);

  File file_;
  DumpRoom& room_;
  ZipDirectory directory_;
  std::unordered_set<uint64_t> names_;  // hashes: a false match costs a "~2" that was not needed
  std::atomic<uint64_t> end_{0};
  ZipMember last_;  // added to the directory by the next append() or finish(), so that undo() can forget it
  std::string last_name_;
  uint64_t last_taken_ = 0;    // of the room
  uint64_t written_back_ = 0;  // up to where the disk was asked to write
  bool has_last_ = false;
  bool was_moved_ = false;      // what was added lies elsewhere, since another program changed the file
  std::vector<uint64_t> ends_;  // of the members, rising
  std::vector<bool> gone_;      // by member
};

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_TENSORS_FILE_H_
