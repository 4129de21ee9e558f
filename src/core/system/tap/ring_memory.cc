#include "system/tap/ring_memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>

#include "base/folder.h"
#include "base/json.h"
#include "base/size_signal.h"
#include "base/text.h"
#include "system/tap/records_file.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

constexpr std::string_view kSharedMemory = "/dev/shm";
constexpr std::string_view kPrefix = "tensortap-rows-";
constexpr std::string_view kMagic = "TTRING01";
constexpr uint64_t kLargestCounts = 4096;  // of kLeftFile
constexpr int64_t kKeptSeconds = 3600;     // a ring whose dump is not where it was

// The first page of an object, before the RingMemory.
struct Header {
  std::array<char, 8> magic;
  uint32_t row_bytes;
  uint32_t ring_rows;
  uint64_t device;  // of records.npy
  uint64_t inode;
  std::array<char, 4032> path;  // of records.npy; ends with 0
  RingCounts counts;
};
constexpr size_t kHeaderBytes = 4096;
static_assert(sizeof(Header) == kHeaderBytes);
constexpr size_t kObjectBytes = kHeaderBytes + sizeof(RingMemory);

std::string hex_text(uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%llx", static_cast<unsigned long long>(number));
  return text.data();
}

static_assert(offsetof(Header, counts) == kHeaderBytes - sizeof(RingCounts));

RingMemory* memory_at(void* map) { return reinterpret_cast<RingMemory*>(static_cast<std::byte*>(map) + kHeaderBytes); }

std::optional<struct stat> facts_of(int fd) {
  struct stat facts {};
  return fstat(fd, &facts) == 0 ? std::optional(facts) : std::nullopt;
}

// When the file was made, in nanoseconds; nothing where the system does not keep it.
std::optional<int64_t> birth_of(int fd) {
  struct statx facts {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &facts) != 0 || (facts.stx_mask & STATX_BTIME) == 0) return std::nullopt;
  return facts.stx_btime.tv_sec * 1'000'000'000 + facts.stx_btime.tv_nsec;
}

std::string prefix_of(const struct stat& records) { return concat(kPrefix, hex_text(records.st_dev), "-", hex_text(records.st_ino), "-"); }

std::vector<std::string> objects_with(std::string_view prefix) {
  std::vector<std::string> paths;
  const Result<std::vector<std::string>> names = list_directory(std::string(kSharedMemory));
  if (!names.ok()) return paths;
  for (const std::string& name : *names) {
    if (name.starts_with(prefix)) paths.push_back(join_path(kSharedMemory, name));
  }
  return paths;
}

// No read before it happens after it. GCC's thread sanitizer has no fences, and sees one process only.
void finish_reads() {
#if !defined(__SANITIZE_THREAD__)
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

// An object of another process, to be read.
class FoundObject {
 public:
  // Nothing when it is not a ring of `owner`'s.
  static std::optional<FoundObject> open(const std::string& path, uid_t owner) {
    Result<File> file = File::open(path, O_RDONLY);
    if (!file.ok()) return std::nullopt;
    const std::optional<struct stat> facts = facts_of(file->fd());
    if (!facts || facts->st_uid != owner || facts->st_size != static_cast<off_t>(kObjectBytes)) return std::nullopt;
    Result<MappedFile> map = MappedFile::map(*file);
    if (!map.ok()) return std::nullopt;
    FoundObject found(*std::move(file), *std::move(map), facts->st_mtime);
    const bool is_ring = found.header().row_bytes == sizeof(RecordRow) && found.header().ring_rows == kRingRows &&
                         std::string_view(found.header().magic.data(), kMagic.size()) == kMagic;
    return is_ring ? std::optional(std::move(found)) : std::nullopt;
  }
  [[nodiscard]] const Header& header() const { return *reinterpret_cast<const Header*>(map_.bytes().data()); }
  // A ring is made after its file. A file that is newer has the inode of one that was removed.
  [[nodiscard]] bool is_of(const File& records) const {
    const std::optional<struct stat> facts = facts_of(records.fd());
    if (!facts || header().device != facts->st_dev || header().inode != facts->st_ino) return false;
    const std::optional<int64_t> birth = birth_of(records.fd());
    const std::optional<int64_t> own = birth_of(file_.fd());
    return !birth || !own || *birth <= *own;
  }
  [[nodiscard]] std::string records_path() const { return {header().path.data(), strnlen(header().path.data(), header().path.size())}; }
  // Whether the process that made it is gone, as far as its lock tells.
  [[nodiscard]] bool is_left() const { return flock(file_.fd(), LOCK_EX | LOCK_NB) == 0; }
  [[nodiscard]] int64_t age_seconds() const { return time(nullptr) - changed_; }
  [[nodiscard]] LeftRing content() const;

 private:
  FoundObject(File file, MappedFile map, int64_t changed) : file_(std::move(file)), map_(std::move(map)), changed_(changed) {}
  File file_;
  MappedFile map_;
  int64_t changed_;
};

uint8_t flags_now(const RecordRow& row) { return __atomic_load_n(&row.flags, __ATOMIC_ACQUIRE); }

// Copies a row into which a program may put where its values lie: that is whole once the flags are new.
RecordRow copy_of(const RecordRow& row) {
  RecordRow copy;
  uint8_t flags = 0;
  do {
    flags = flags_now(row);
    std::memcpy(&copy, &row, sizeof(RecordRow));
    finish_reads();
  } while (copy.flags != flags);
  return copy;
}

// Adds the row `number`, or notes that it is not complete yet. A row whose state is the same before and after it is copied was whole
// meanwhile.
void take_row(const RingMemory& memory, uint64_t number, LeftRing& content) {
  const uint64_t block = number / kBlockRows;
  const size_t slot = number % kRingRows;
  for (;;) {
    const uint64_t state = memory.states[slot].load(std::memory_order_acquire);
    const SlotPhase phase = phase_of(state);
    const bool is_later = block_of(state) > block;
    if (block_of(state) < block || (!is_later && (phase == SlotPhase::kEmpty || phase == SlotPhase::kTaken))) {
      content.unready.push_back(number);
      return;
    }
    if (is_later || phase != SlotPhase::kComplete) return;  // what there is of it, the file has
    const LeftRow left{number, copy_of(memory.rows[slot])};
    if (memory.states[slot].load(std::memory_order_relaxed) != state) continue;
    content.rows.push_back(left);
    return;
  }
}

// Counts are read first: every counted row is found then. The newest rows are read first: without gaps of threads that are at work, every
// row before one that was complete is complete.
LeftRing FoundObject::content() const {
  const auto& memory = *reinterpret_cast<const RingMemory*>(map_.bytes().data() + kHeaderBytes);
  const RingCounts& counts = header().counts;
  LeftRing content;
  content.found = true;
  content.handed_over = counts.rows.load();
  content.values = counts.values.load();
  content.settled_values = counts.settled_values.load();
  content.lost = counts.lost.load();
  uint64_t newest = kRingBlocks - 1;
  for (const std::atomic<uint64_t>& state : memory.states) newest = std::max(newest, block_of(state.load(std::memory_order_acquire)));
  content.end = (newest + 1) * kBlockRows;
  for (uint64_t i = 1; i <= kRingRows; ++i) take_row(memory, content.end - i, content);
  std::ranges::reverse(content.rows);
  return content;
}

Status keep_counts(const Folder& folder, const LeftRing& left) {
  const Json counts = {{"rows", left.handed_over}, {"values", left.values}, {"settled_values", left.settled_values}, {"lost", left.lost}};
  return folder.replace_file(kLeftFile, to_json_text(counts) + "\n");
}

LeftRing read_counts(const File& records) {
  LeftRing left;
  const Result<std::string> text = read_file(join_path(parent_path(records.path()), kLeftFile), kLargestCounts);
  const Result<Json> counts = text.ok() ? parse_json(*text, kLeftFile) : Result<Json>(text.status());
  if (!counts.ok() || !counts->is_object()) return left;
  const auto number = [&](const char* key) {
    const auto found = counts->find(key);
    return found != counts->end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  };
  left.found = true;
  left.handed_over = number("rows");
  left.values = number("values");
  left.settled_values = number("settled_values");
  left.lost = number("lost");
  return left;
}

// True when nothing needs the ring any more.
bool settle(const FoundObject& ring) {
  const std::string path = ring.records_path();
  const Result<Folder> folder = Folder::open(parent_path(path));
  Result<File> records = folder.ok() ? folder->open_file(file_name(path), O_RDWR) : Result<File>(folder.status());
  if (!records.ok() || !ring.is_of(*records)) return ring.age_seconds() > kKeptSeconds;
  if (flock(records->fd(), LOCK_EX | LOCK_NB) != 0) return false;
  const LeftRing left = ring.content();
  return add_left_rows(*records, left.rows).ok() && keep_counts(*folder, left).ok();
}

Result<File> make_object(const struct stat& records) {
  uint64_t drawn = 0;
  if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn)) return internal_error("no random numbers");
  const std::string path = join_path(kSharedMemory, concat(prefix_of(records), hex_text(drawn)));
  TENSORTAP_ASSIGN_OR_RETURN(File object, File::open(path, O_RDWR | O_CREAT | O_EXCL));
  // All of it now: a store into shared memory that the system does not have would end the program.
  const bool whole = without_size_signal([&] { return fallocate(object.fd(), 0, 0, kObjectBytes); }) == 0;
  if (whole && flock(object.fd(), LOCK_EX) == 0) return object;
  const int error = errno;
  (void)unlink(path.c_str());
  return errno_status(path, error);
}

void* map_object(const File& object) {
  const bool shared = object.is_open();
  void* map = mmap(nullptr, kObjectBytes, PROT_READ | PROT_WRITE, MAP_POPULATE | (shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS),
                   shared ? object.fd() : -1, 0);
  return map == MAP_FAILED ? nullptr : map;
}

}  // namespace

RingObject& RingObject::operator=(RingObject&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(counts_, other.counts_);
  std::swap(map_, other.map_);
  std::swap(object_, other.object_);
  return *this;
}

RingObject::~RingObject() {
  if (map_ != nullptr) munmap(map_, kObjectBytes);
  if (object_.is_open()) (void)unlink(object_.path().c_str());
}

Result<RingObject> RingObject::create(const File& records) {
  const std::optional<struct stat> facts = facts_of(records.fd());
  RingObject ring;
  if (facts) {
    for (const std::string& path : objects_with(prefix_of(*facts))) (void)unlink(path.c_str());
    if (Result<File> object = make_object(*facts); object.ok()) ring.object_ = *std::move(object);
  }
  ring.map_ = map_object(ring.object_);
  if (ring.map_ == nullptr) return exhausted(concat(records.path(), ": no memory"));
  ring.memory_ = memory_at(ring.map_);
  auto* header = static_cast<Header*>(ring.map_);
  ring.counts_ = &header->counts;
  if (!ring.object_.is_open()) return ring;
  header->row_bytes = sizeof(RecordRow);
  header->ring_rows = kRingRows;
  header->device = facts->st_dev;
  header->inode = facts->st_ino;
  char* full = realpath(records.path().c_str(), nullptr);
  if (full != nullptr && strlen(full) < header->path.size()) std::memcpy(header->path.data(), full, strlen(full) + 1);
  std::free(full);
  std::memcpy(header->magic.data(), kMagic.data(), kMagic.size());
  return ring;
}

LeftRing read_left_ring(const File& records) {
  const std::optional<struct stat> facts = facts_of(records.fd());
  if (!facts) return {};
  for (const std::string& path : objects_with(prefix_of(*facts))) {
    const std::optional<FoundObject> ring = FoundObject::open(path, facts->st_uid);
    if (ring && ring->is_of(records)) return ring->content();
  }
  return read_counts(records);
}

namespace {

uint64_t rows_in(uint64_t file_bytes) { return (file_bytes - std::min(file_bytes, kRowsBegin)) / sizeof(RecordRow); }

uint64_t place_of(uint64_t number) { return kRowsBegin + number * sizeof(RecordRow); }

}  // namespace

uint64_t add_left_rows(std::span<std::byte> records, const LeftRing& left) {
  const uint64_t end = rows_in(records.size());
  const auto unmark = [&](uint64_t number) { records[place_of(number) + offsetof(RecordRow, committed)] = std::byte{0}; };
  for (uint64_t number = left.end; number < end; ++number) unmark(number);
  for (const uint64_t number : left.unready) {
    if (number < end) unmark(number);
  }
  uint64_t added = 0;
  for (const LeftRow& row : left.rows) {
    if (row.number >= end) break;
    std::byte* there = records.data() + place_of(row.number);
    if (there[offsetof(RecordRow, committed)] == std::byte{0}) ++added;
    std::memcpy(there, &row.row, sizeof(RecordRow));
  }
  return added;
}

Result<uint64_t> add_left_rows(File& records, std::span<const LeftRow> rows) {
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t size, records.size());
  const uint64_t present = rows_in(size);
  uint64_t added = 0;
  for (const LeftRow& left : rows) {
    // Nothing leaves a hole larger than a ring.
    if (left.number >= present + kRingRows) break;
    RecordRow there;
    if (left.number < present) {
      TENSORTAP_RETURN_IF_ERROR(records.read_at(place_of(left.number), std::as_writable_bytes(std::span(&there, 1))));
    }
    const bool is_there = left.number < present && there.committed != 0;
    if (is_there && std::memcmp(&there, &left.row, sizeof(RecordRow)) == 0) continue;
    TENSORTAP_RETURN_IF_ERROR(records.write_at(place_of(left.number), std::as_bytes(std::span(&left.row, 1))));
    if (!is_there) ++added;
  }
  return added;
}

void remove_ring(const File& records) {
  const std::optional<struct stat> facts = facts_of(records.fd());
  if (!facts) return;
  for (const std::string& path : objects_with(prefix_of(*facts))) (void)unlink(path.c_str());
  const Result<Folder> folder = Folder::open(parent_path(records.path()));
  if (folder.ok() && folder->contains(kLeftFile)) (void)folder->remove(kLeftFile);
}

void settle_left_rings() {
  for (const std::string& path : objects_with(kPrefix)) {
    const std::optional<FoundObject> ring = FoundObject::open(path, geteuid());
    if (ring && ring->is_left() && settle(*ring)) (void)unlink(path.c_str());
  }
}

}  // namespace tensortap::tap
