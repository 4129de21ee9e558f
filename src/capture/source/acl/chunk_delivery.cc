#include "source/acl/chunk_delivery.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "source/acl/failure.h"

namespace tensortap::acl_source {
namespace {

constexpr size_t kChunkBytes = size_t{128} << 20;

std::atomic<ChunkCallback> chunk_callback{nullptr};

struct ChunkFreer {
  void operator()(acldumpChunk* chunk) const { std::free(chunk); }
};

// Passes one chunk to the callback. A text includes its terminating zero, as in C.
bool hand_over(ChunkCallback callback, const std::string& name, std::string_view bytes, bool is_last) {
  const size_t size = offsetof(acldumpChunk, dataBuf) + bytes.size();
  const std::unique_ptr<acldumpChunk, ChunkFreer> chunk(static_cast<acldumpChunk*>(std::calloc(1, std::max(size, sizeof(acldumpChunk)))));
  if (!chunk) return false;
  std::memcpy(chunk->fileName, name.data(), std::min(name.size(), sizeof(chunk->fileName) - 1));
  chunk->bufLen = static_cast<uint32_t>(bytes.size());
  chunk->isLastChunk = is_last ? 1 : 0;
  chunk->offset = -1;
  std::memcpy(reinterpret_cast<char*>(chunk.get()) + offsetof(acldumpChunk, dataBuf), bytes.data(), bytes.size());
  return callback(chunk.get(), static_cast<int32_t>(sizeof(acldumpChunk) + bytes.size())) == 0;
}

bool hand_over_file(ChunkCallback callback, const std::string& path, const std::string& name) {
  const auto file = MappedFile::open(path);
  if (!file.ok()) return false;
  const std::string_view bytes = file->text();
  if (name.ends_with(".csv")) {
    const std::string text(bytes);
    return hand_over(callback, name, {text.c_str(), text.size() + 1}, true);
  }
  size_t done = 0;
  do {
    const size_t size = std::min(kChunkBytes, bytes.size() - done);
    if (!hand_over(callback, name, bytes.substr(done, size), done + size == bytes.size())) return false;
    done += size;
  } while (done < bytes.size());
  return true;
}

// Files of the dump itself, without those that are ours, in the order of the times in their names.
std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  auto entry = std::filesystem::recursive_directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().starts_with('.')) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(error)) {
      files.push_back(entry->path().string());
    }
  }
  const auto time_of = [](const std::string& path) {
    for (const std::string_view part : split(path, '.')) {
      if (part.size() == 16 && is_digits(part)) return std::string(part);
    }
    return std::string();
  };
  std::ranges::sort(files, {}, [&](const std::string& path) { return time_of(path) + path; });
  return files;
}

}  // namespace

void register_chunk_callback(ChunkCallback callback) {
  ChunkCallback none = nullptr;
  chunk_callback.compare_exchange_strong(none, callback);
}

void unregister_chunk_callback() { chunk_callback.store(nullptr); }

bool has_chunk_callback() { return chunk_callback.load() != nullptr; }

Result<std::unique_ptr<ChunkDelivery>> ChunkDelivery::begin(const DumpRequest& wanted) {
  std::unique_ptr<ChunkDelivery> delivery(new ChunkDelivery());
  std::string pattern = join_path(environment_value("TMPDIR").value_or("/tmp"), "tensortap-chunks-XXXXXX");
  if (mkdtemp(pattern.data()) == nullptr) return errno_status(pattern, errno);
  delivery->scratch_ = pattern;
  delivery->wanted_folder_ = wanted.folder;
  delivery->request_ = wanted;
  Json config = Json::parse(wanted.config, nullptr, false);
  if (config.is_object() && config.contains("dump") && config["dump"].is_object()) config["dump"]["dump_path"] = pattern;
  delivery->request_.config = to_json_text(config);
  delivery->request_.folder = pattern;
  return delivery;
}

ChunkDelivery::~ChunkDelivery() {
  deliver();
  std::error_code ignored;
  std::filesystem::remove_all(scratch_, ignored);
}

void ChunkDelivery::deliver() {
  const ChunkCallback callback = chunk_callback.load();
  for (const std::string& path : files_below(scratch_)) {
    const std::string name = wanted_folder_ + path.substr(scratch_.size());
    if (callback != nullptr && !hand_over_file(callback, path, name))
      warn_once("the callback of acldumpRegCallback() did not take a chunk; it is lost");
    unlink(path.c_str());
  }
}

}  // namespace tensortap::acl_source
