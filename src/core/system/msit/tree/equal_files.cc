#include "system/msit/tree/equal_files.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "stats/digest.h"

namespace tensortap::msit {
namespace {

constexpr size_t kMostRemembered = size_t{1} << 18;  // some 60 MB of names

}  // namespace

std::string relative_path(std::string_view folder, const WrittenFile& file) {
  const std::vector<std::string_view> from = split(folder, '/');
  const std::vector<std::string_view> to = split(file.folder, '/');
  const auto [from_rest, to_rest] = std::ranges::mismatch(from, to);
  std::string path;
  for (auto part = from_rest; part != from.end(); ++part) path += "../";
  for (auto part = to_rest; part != to.end(); ++part) path += concat(*part, "/");
  return path + file.stored;
}

std::string EqualFiles::key_of(std::string_view header, std::span<const std::byte> elements) {
  const TensorView bytes{{DType::kUInt8, {static_cast<int64_t>(elements.size())}}, elements.data(), nullptr};
  return concat(header, digest_text(compute_digest(bytes, DigestKind::kXxh3)));
}

const WrittenFile* EqualFiles::find(const std::string& key, std::string_view header, std::span<const std::byte> elements) const {
  const auto found = files_.find(key);
  if (found == files_.end()) return nullptr;
  const auto map = MappedFile::open(join_path(join_path(root_, found->second.folder), found->second.stored));
  if (!map.ok() || map->bytes().size() != header.size() + elements.size() || !map->text().starts_with(header)) return nullptr;
  const bool equal = elements.empty() || std::memcmp(map->bytes().data() + header.size(), elements.data(), elements.size()) == 0;
  return equal ? &found->second : nullptr;
}

void EqualFiles::add(std::string key, const WrittenFile& file) {
  if (files_.size() < kMostRemembered) files_.insert_or_assign(std::move(key), file);
}

}  // namespace tensortap::msit
