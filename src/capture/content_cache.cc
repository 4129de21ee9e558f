#include "capture/content_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <utility>

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
  void add(uint64_t word) {
    low_ = mix(low_ ^ word, 0x9e3779b97f4a7c15U);
    high_ = mix(high_ + word, 0xd1b54a32d192ed03U) ^ word;
  }
  [[nodiscard]] std::array<uint64_t, 2> value() const { return {mix(low_ ^ high_, 0xbf58476d1ce4e5b9U), high_}; }

 private:
  uint64_t low_ = 0x2545f4914f6cdd1dU;
  uint64_t high_ = 0x94d049bb133111ebU;
};

void* map_zeros(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

ContentKey content_key(uint64_t storage, uint64_t version, const TensorView& view) {
  Hash hash;
  hash.add(storage);
  hash.add(version);
  hash.add(reinterpret_cast<uintptr_t>(view.data));
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
  return {storage, hash.value()};
}

// A content whose data was lost can be kept anew.
void ContentCache::settle(Content& content, const std::optional<DataPlace>& place) {
  content.written = place.has_value();
  content.place = place.value_or(DataPlace{});
  if (!place.has_value()) content.data = 0;
}

class ContentCache::SetLock {
 public:
  explicit SetLock(Set& set) : set_(set) {
    while (set_.lock.test_and_set(std::memory_order_acquire)) set_.lock.wait(true, std::memory_order_relaxed);
  }
  ~SetLock() {
    set_.lock.clear(std::memory_order_release);
    set_.lock.notify_one();
  }
  SetLock(const SetLock&) = delete;
  SetLock& operator=(const SetLock&) = delete;

 private:
  Set& set_;
};

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

bool ContentCache::find(const ContentKey& key, Content& content) {
  if (sets_ == nullptr || !key.valid()) return false;
  Set& set = set_of(key);
  const SetLock lock(set);
  for (Entry& entry : set.entries) {
    if (entry.key != key) continue;
    entry.used = ++set.clock;
    content = entry.content;
    return true;
  }
  return false;
}

void ContentCache::put(const ContentKey& key, const Content& content) {
  if (sets_ == nullptr || !key.valid()) return;
  Set& set = set_of(key);
  const SetLock lock(set);
  auto found = std::ranges::find(set.entries, key, &Entry::key);
  if (found == set.entries.end()) {
    found = std::ranges::min_element(set.entries, {}, &Entry::used);
    *found = Entry{key, 0, content};
  } else if (content.data != 0 || found->content.data == 0) {
    found->content = content;
  }
  // The writer may have been quicker.
  const Place& place = places_[content.data % kPlaces];
  if (content.data != 0 && place.data == content.data) settle(found->content, place.written ? std::optional(place.place) : std::nullopt);
  found->used = ++set.clock;
}

void ContentCache::drop_storage(uint64_t storage) {
  if (sets_ == nullptr || storage == 0) return;
  for (Set& set : std::span(sets_, kSets)) {
    const SetLock lock(set);
    for (Entry& entry : set.entries) {
      if (entry.key.storage == storage) entry = Entry{};
    }
  }
}

void ContentCache::data_written(const ContentKey& key, uint64_t data, const std::optional<DataPlace>& place) {
  if (sets_ == nullptr || data == 0) return;
  Set& set = set_of(key);
  const SetLock lock(set);
  places_[data % kPlaces] = {data, place.has_value(), place.value_or(DataPlace{})};
  const auto found = std::ranges::find(set.entries, key, &Entry::key);
  if (found != set.entries.end() && found->content.data == data) settle(found->content, place);
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
