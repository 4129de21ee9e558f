// Documents: the files of a dump that hold no tensor and whose content the source gives (KeepsDocuments::add_document).

#ifndef TENSORTAP_SYSTEM_TAP_DOCUMENTS_H_
#define TENSORTAP_SYSTEM_TAP_DOCUMENTS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/folder.h"
#include "base/status.h"
#include "layout/dump_room.h"
#include "system/tap/written_files.h"

namespace tensortap::tap {

// Thread-safe.
class Documents {
 public:
  // `folder` and `room` live longer.
  Documents(const Folder& folder, Access access, DumpRoom& room) : folder_(folder), access_(access), room_(room) {}

  // Writes `content` into the file of that name in the dump's folder. With `append`, adds it to what was written before; otherwise writes
  // the whole file, but only the first time. After an error, no part of `content` is left in the file. Errors: kInvalidArgument for a name
  // that is not a document's; kIo; kExhausted.
  Status add(std::string_view name, std::string_view content, bool append);
  [[nodiscard]] uint64_t bytes_written() const { return bytes_.load(std::memory_order_relaxed); }
  // The files as they are now; without other calls at the same time.
  void tell_files(std::vector<WrittenFile>& files) const;

 private:
  struct Document {
    File file;
    uint64_t bytes = 0;
    CutWatch cut{};
  };
  static constexpr size_t kMost = 64;

  const Folder& folder_;
  const Access access_;
  DumpRoom& room_;
  std::mutex mutex_;
  std::map<std::string, Document, std::less<>> documents_;  // guarded by mutex_
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_DOCUMENTS_H_
