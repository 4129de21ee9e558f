#include "session/content_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "base/flag_lock.h"
#include "base/json.h"

namespace tensortap {
namespace {

// A multiplication to 128 bits, folded: every bit of the word reaches every bit of the result.
uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

class Hash {
 public:
  void add(uint64_t word) { value_ = mix(value_ ^ word, 0x9e3779b97f4a7c15U) + word; }
  [[nodiscard]] uint64_t value() const { return mix(value_, 0xbf58476d1ce4e5b9U); }

 private:
  uint64_t value_ = 0x2545f4914f6cdd1dU;
};

void* map_zeros(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

ContentKey content_key(uint64_t storage, uint64_t version, const TensorView& view, const void* place) {
  Hash hash;
  hash.add(reinterpret_cast<uintptr_t>(place == nullptr ? view.data : place));
  const bool contiguous = view.is_contiguous();
  hash.add(static_cast<uint64_t>(view.desc.dtype) << 1 | static_cast<uint64_t>(contiguous));
  if (contiguous) {
    hash.add(view.desc.shape.numel().value_or(0));
  } else {
    for (int i = 0; i < view.desc.shape.rank(); ++i) {
      hash.add(static_cast<uint64_t>(view.desc.shape[i]));
      hash.add(static_cast<uint64_t>(view.strides[i]));
    }
  }
  return {storage, version, hash.value()};
}

// A content whose data was lost can be kept anew.
void ContentCache::settle(Content& content, const std::optional<DataPlace>& place) {
  content.written = place.has_value();
  content.place = place.value_or(DataPlace{});
  if (!place.has_value()) content.data = 0;
}

ContentCache::~ContentCache() {
  if (sets_ != nullptr) munmap(static_cast<void*>(sets_), kSets * sizeof(Set));
  if (places_ != nullptr) munmap(static_cast<void*>(places_), kPlaces * sizeof(Place));
}

bool ContentCache::reserve() {
  // Zero bytes are a set whose entries are free: a key of no storage. Nothing is constructed, so that pages without use take no memory.
  static_assert(std::is_trivially_destructible_v<Set> && std::is_trivially_destructible_v<Place>);
  sets_ = static_cast<Set*>(map_zeros(kSets * sizeof(Set)));
  places_ = static_cast<Place*>(map_zeros(kPlaces * sizeof(Place)));
  if (sets_ != nullptr && places_ != nullptr) return true;
  if (sets_ != nullptr) munmap(static_cast<void*>(std::exchange(sets_, nullptr)), kSets * sizeof(Set));
  if (places_ != nullptr) munmap(static_cast<void*>(std::exchange(places_, nullptr)), kPlaces * sizeof(Place));
  return false;
}

size_t ContentCache::position_of(const Set& set, const ContentKey& key) {
  return static_cast<size_t>(std::ranges::find(set.keys, key) - set.keys.begin());
}

size_t ContentCache::position_to_give(const Set& set, const ContentKey& key) {
  const auto outdated = std::ranges::find(set.keys, key.place, &ContentKey::place);
  if (outdated != set.keys.end() && outdated->valid()) return static_cast<size_t>(outdated - set.keys.begin());
  return static_cast<size_t>(std::ranges::min_element(set.used) - set.used.begin());
}

bool ContentCache::find(const ContentKey& key, Content& content) {
  if (sets_ == nullptr || !key.valid()) return false;
  Set& set = set_of(key);
  const FlagLock lock(set.lock);
  const size_t found = position_of(set, key);
  if (found == kWays) return false;
  set.used[found] = ++set.clock;
  content = set.contents[found];
  return true;
}

void ContentCache::put(const ContentKey& key, const Content& content) {
  if (sets_ == nullptr || !key.valid()) return;
  Set& set = set_of(key);
  const FlagLock lock(set.lock);
  size_t at = position_of(set, key);
  if (at == kWays) {
    at = position_to_give(set, key);
    set.keys[at] = key;
    set.contents[at] = content;
  } else if (content.data != 0 || set.contents[at].data == 0) {
    set.contents[at] = content;
  }
  set.used[at] = ++set.clock;
  // The writer may have been quicker.
  const Place& place = places_[content.data % kPlaces];
  if (content.data == 0 || place.data != content.data) return;
  settle(set.contents[at], place.written ? std::optional(place.place) : std::nullopt);
}

void ContentCache::drop_storage(uint64_t storage) {
  if (sets_ == nullptr || storage == 0) return;
  for (Set& set : std::span(sets_, kSets)) {
    const FlagLock lock(set.lock);
    for (size_t i = 0; i < kWays; ++i) {
      if (set.keys[i].storage != storage) continue;
      set.keys[i] = ContentKey{};
      set.used[i] = 0;
    }
  }
}

void ContentCache::data_written(const ContentKey& key, uint64_t data, const std::optional<DataPlace>& place) {
  if (sets_ == nullptr || data == 0) return;
  Set& set = set_of(key);
  const FlagLock lock(set.lock);
  places_[data % kPlaces] = {data, place.has_value(), place.value_or(DataPlace{})};
  const size_t found = position_of(set, key);
  if (found != kWays && set.contents[found].data == data) settle(set.contents[found], place);
}

std::optional<DataPlace> ContentCache::place_of(uint64_t data) const {
  if (places_ == nullptr) return std::nullopt;
  const Place& place = places_[data % kPlaces];
  return place.data == data && place.written ? std::optional(place.place) : std::nullopt;
}

bool ContentCache::count_use() {
  const bool check = uses_.fetch_add(1, std::memory_order_relaxed) % kCheckEvery == 0;
  if (check) checked_.fetch_add(1, std::memory_order_relaxed);
  return check;
}

void ContentCache::count_shared(uint64_t bytes) {
  shared_.fetch_add(1, std::memory_order_relaxed);
  shared_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void ContentCache::note_mismatch(const ContentKey& key, std::string record) {
  drop_storage(key.storage);
  const std::lock_guard lock(mismatch_mutex_);
  ++mismatch_count_;
  if (mismatch_examples_.size() < kExamples) mismatch_examples_.push_back(std::move(record));
}

Json ContentCache::report() const {
  if (uses_.load() == 0) return nullptr;
  return {{"statistics", uses_.load()}, {"tensors", shared_.load()}, {"bytes", shared_bytes_.load()}, {"checked", checked_.load()}};
}

Json ContentCache::mismatches() const {
  const std::lock_guard lock(mismatch_mutex_);
  if (mismatch_count_ == 0) return nullptr;
  return {{"count", mismatch_count_}, {"what", "memory changed although no operator wrote it"}, {"examples", mismatch_examples_}};
}

}  // namespace tensortap
