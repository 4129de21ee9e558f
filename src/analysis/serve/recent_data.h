// RecentData: the tensors that were read last, since a page asks several questions about each.

#ifndef TENSORTAP_SERVE_RECENT_DATA_H_
#define TENSORTAP_SERVE_RECENT_DATA_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

// Thread-safe. Keeps a few tensors, 256 MiB together. Tensors mapped from a file take no memory and are not kept.
class RecentData {
 public:
  // The data of a row: the kept data, otherwise the result of `read`.
  Result<RecordData> get(size_t row, const std::function<Result<RecordData>()>& read);

 private:
  static constexpr size_t kMostKept = 4;
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;

  struct Kept {
    size_t row = 0;
    uint64_t bytes = 0;
    RecordData data;
  };
  void keep(Kept one);

  std::mutex mutex_;
  std::deque<Kept> kept_;  // the newest last
  uint64_t bytes_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_RECENT_DATA_H_
