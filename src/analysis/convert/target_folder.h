// The folder that a conversion writes into: whole files, counted, with a list of long names. Thread-safe.

#ifndef TENSORTAP_CONVERT_TARGET_FOLDER_H_
#define TENSORTAP_CONVERT_TARGET_FOLDER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/folder.h"
#include "base/status.h"

namespace tensortap {

class TargetFolder {
 public:
  explicit TargetFolder(std::string path) : path_(std::move(path)) {}

  // This file is not replaced: it is what is converted. Before write().
  void protect(const std::string& file);
  // Makes the folder and its parents. Errors: kIo.
  Status make();
  // Removes what make() made when nothing was written.
  void remove_if_unused();

  // Makes the file `name` in the folder `below` ("" = the target itself) of the `bytes` that `fill` writes. It appears when it is whole,
  // and replaces an earlier one; kInvalidArgument where that one is protected. Characters that a terminal obeys, and '/', become '_'. A
  // name that is too long is replaced by a number that mapping.csv explains.
  Status write(const std::string& below, const std::string& name, uint64_t bytes, const std::function<Status(File&)>& fill);
  // Bytes of a file whose size was not known when it was begun.
  void count_bytes(uint64_t bytes) { bytes_.fetch_add(bytes); }
  [[nodiscard]] uint64_t written() const { return written_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  // Files that were there before and are not any more.
  [[nodiscard]] uint64_t replaced() const { return replaced_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Result<Folder> folder_for(const std::string& below) const;
  Status add_mapping(const Folder& folder, const std::string& stored, const std::string& name);

  std::string path_;
  std::vector<std::string> made_;                      // folders, the outermost first
  std::set<std::pair<uint64_t, uint64_t>> protected_;  // files, by device and inode
  std::mutex mutex_;
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> replaced_{0};
  std::atomic<uint64_t> next_{0};
};

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_TARGET_FOLDER_H_
