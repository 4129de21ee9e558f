#include "tree/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"

namespace tensortap {
namespace {

constexpr uint64_t kMostInMemory = uint64_t{64} << 20;

}  // namespace

Status Spool::open() {
  if (file_ != nullptr) return {};
  Result<File> file = File::open_at(folder_->fd(), ".", folder_->path(), O_RDWR | O_TMPFILE);
  if (!file.ok()) {
    const std::string name = concat(kSpoolPrefix, ::getpid());
    file = folder_->open_file(name, O_RDWR | O_CREAT | O_EXCL);
    if (file.ok()) (void)folder_->remove(name);
  }
  if (!file.ok()) return file.status();
  file_ = std::make_shared<File>(*std::move(file));
  return {};
}

Result<std::shared_ptr<const KeptBytes>> Spool::keep(std::span<const std::byte> bytes) {
  if (bytes.size() <= kLargestInMemory && *in_memory_ + bytes.size() <= kMostInMemory) {
    auto* kept = new KeptBytes{{bytes.begin(), bytes.end()}, {}, nullptr, 0, bytes.size()};
    *in_memory_ += bytes.size();
    return std::shared_ptr<const KeptBytes>(kept, [in_memory = in_memory_](const KeptBytes* old) {
      *in_memory -= old->bytes;
      delete old;
    });
  }
  TENSORTAP_RETURN_IF_ERROR(open());
  TENSORTAP_RETURN_IF_ERROR(file_->write_at(end_, bytes));
  const uint64_t at = std::exchange(end_, end_ + bytes.size());
  return std::shared_ptr<const KeptBytes>(new KeptBytes{{}, {}, file_, at, bytes.size()}, [](const KeptBytes* old) {
    (void)::fallocate(old->spool->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(old->at),
                      static_cast<off_t>(old->bytes));
    delete old;
  });
}

}  // namespace tensortap
