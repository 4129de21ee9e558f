// Dumps that go to a callback of the program instead of to the disk (acldumpRegCallback()).

#ifndef TENSORTAP_SOURCE_ACL_CHUNK_DELIVERY_H_
#define TENSORTAP_SOURCE_ACL_CHUNK_DELIVERY_H_

#include <memory>
#include <mutex>
#include <string>

#include "acl/acl_dump.h"
#include "source/acl/engine.h"

namespace tensortap::acl_source {

using ChunkCallback = int32_t (*)(const acldumpChunk* chunk, int32_t size);

// The callback that models loaded from now on dump to; a second one is ignored while there is one. Null = none. Thread-safe.
void register_chunk_callback(ChunkCallback callback);
void unregister_chunk_callback();
bool has_chunk_callback();

// Sends the dump of one model to the callback: the dump is written to a scratch folder, and its files are passed on and removed.
class ChunkDelivery {
 public:
  // Errors: kIo when the scratch folder cannot be made.
  static Result<std::unique_ptr<ChunkDelivery>> begin(const DumpRequest& wanted);
  ChunkDelivery(const ChunkDelivery&) = delete;
  ChunkDelivery& operator=(const ChunkDelivery&) = delete;
  // Delivers the rest; the dump must have ended.
  ~ChunkDelivery();

  // The request with which the model must be captured instead.
  [[nodiscard]] const DumpRequest& request() const { return request_; }
  // A run holds this until its files are delivered, so that files are delivered whole.
  [[nodiscard]] std::mutex& runs() { return runs_; }
  // Delivers every file in the folder, in the order of their times. Everything must be written.
  void deliver();

 private:
  ChunkDelivery() = default;
  std::mutex runs_;
  std::string scratch_;
  std::string wanted_folder_;
  DumpRequest request_;
};

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_CHUNK_DELIVERY_H_
