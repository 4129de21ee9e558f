// ContentCache: remembers the contents of tensors that were looked at, so that equal content is measured once and written once.
//
// The block of memory, its version, the address, the dtype and the order of the elements identify a content, as capture.h promises. The
// cache holds a bounded number of contents, forgets those that were not asked for lately, and takes its memory from a separate mapping.

#ifndef TENSORTAP_SESSION_CONTENT_CACHE_H_
#define TENSORTAP_SESSION_CONTENT_CACHE_H_

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "layout/data_place.h"
#include "stats/digest.h"
#include "tensor/tensor.h"
#include "tensor/tensor_stats.h"

namespace tensortap {

// Everything that distinguishes contents: equal keys are equal contents.
struct ContentKey {
  uint64_t storage = 0;  // 0 = no key
  uint64_t version = 0;
  uint64_t place =
      0;  // hash of the address, the type and how the elements lie; a newer content of the same place makes the older one useless

  [[nodiscard]] bool valid() const { return storage != 0; }
  friend bool operator==(const ContentKey&, const ContentKey&) = default;
  friend auto operator<=>(const ContentKey&, const ContentKey&) = default;
};
// `view` as it is in memory. Contiguous tensors of equal elements in other dimensions have the same key. `place`: the address that stands
// for that of the data, null = its own.
ContentKey content_key(uint64_t storage, uint64_t version, const TensorView& view, const void* place = nullptr);

// What is known of a content. A field that is not known has the value given here.
struct Content {
  TensorStats stats;
  bool measured = false;   // `stats` is known
  bool in_parts = false;   // measured in parts, as for the threads of a pool
  bool on_device = false;  // measured by a device, whose sums may have other bits
  bool scanned = false;    // `nonfinite` is known
  bool nonfinite = false;
  Digest digest;         // as it was asked for, of kind kNone otherwise
  Digest check;          // of the bytes that were kept, where the statistics would not show a change
  uint64_t data = 0;     // number of the record that keeps the data, 0 = none does
  bool written = false;  // `place` is known
  DataPlace place;
};

// The known facts about the content of a tensor that is about to be looked at.
struct KnownContent {
  ContentKey key;
  Content content;
  bool found = false;
  bool learned = false;       // `content` holds something new
  bool shares_data = false;   // records of equal content are written once
  bool checks_bytes = false;  // the statistics would not show every change of the bytes
};

// Thread-safe. Locks are held for a few hundred bytes' copying.
class ContentCache {
 public:
  ContentCache() = default;
  ~ContentCache();
  ContentCache(const ContentCache&) = delete;
  ContentCache& operator=(const ContentCache&) = delete;

  // Makes room; false, and an empty cache for good, when the system has no memory. Once, first.
  bool reserve();

  // Whether the content is known; fills *content.
  bool find(const ContentKey& key, Content& content);
  // Adds what is known of a content, or adds to it.
  void put(const ContentKey& key, const Content& content);
  // Forgets all contents of a block of memory.
  void drop_storage(uint64_t storage);

  // Numbers for records that keep data, from 1 on.
  uint64_t next_data() { return data_numbers_.fetch_add(1, std::memory_order_relaxed) + 1; }
  // Says where a record's data came to lie, nullopt when it was lost. One thread at a time.
  void data_written(const ContentKey& key, uint64_t data, const std::optional<DataPlace>& place);
  // Where a record's data lies, for records that reached the thread of data_written() after it. Nothing when the data was lost.
  [[nodiscard]] std::optional<DataPlace> place_of(uint64_t data) const;

  // Counts one use of a known content. True when this use must be checked against the memory.
  bool count_use();
  void count_shared(uint64_t bytes);
  // Notes memory that changed under an unchanged version.
  void note_mismatch(const ContentKey& key, std::string record);

  // {"statistics", "tensors", "bytes", "checked"}; null when nothing was repeated.
  [[nodiscard]] Json report() const;
  // {"count", "what", "examples"}, null when there was none.
  [[nodiscard]] Json mismatches() const;

 private:
  static constexpr size_t kWays = 8;
  static constexpr size_t kSets = 4096;
  static constexpr uint64_t kPlaces = 1U << 16;  // more than a queue holds
  static constexpr uint64_t kCheckEvery = 64;
  static constexpr size_t kExamples = 5;

  // Keys are stored together: a search touches three lines of the processor's cache, and not eight.
  struct Set {
    std::atomic_flag lock;
    uint64_t clock = 0;
    std::array<ContentKey, kWays> keys;
    std::array<uint64_t, kWays> used;  // the set's clock
    std::array<Content, kWays> contents;
  };
  struct Place {
    uint64_t data = 0;
    bool written = false;
    DataPlace place;
  };

  static void settle(Content& content, const std::optional<DataPlace>& place);
  static size_t position_of(const Set& set, const ContentKey& key);  // kWays = not there
  static size_t position_to_give(const Set& set, const ContentKey& key);

  // By place alone, so that the contents that a program makes at one place, step after step, take the same few lines of memory.
  Set& set_of(const ContentKey& key) { return sets_[key.place % kSets]; }

  Set* sets_ = nullptr;      // zero pages until they are used
  Place* places_ = nullptr;  // by data number
  std::atomic<uint64_t> data_numbers_{0};
  std::atomic<uint64_t> uses_{0};
  std::atomic<uint64_t> checked_{0};
  std::atomic<uint64_t> shared_{0};
  std::atomic<uint64_t> shared_bytes_{0};
  mutable std::mutex mismatch_mutex_;
  uint64_t mismatch_count_ = 0;
  std::vector<std::string> mismatch_examples_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_CONTENT_CACHE_H_
