#include "system/tap/documents.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.h"
#include "layout/document_path.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

constexpr std::array kOwnFiles = {kRunFile, kOpsFile, kRecordsFile, kTensorsFile, kHistogramsFile, kSketchesFile, kChannelsFile, kLeftFile};

bool is_document_name(std::string_view name) {
  return is_document_path(name) && name.find('/') == std::string_view::npos && std::ranges::find(kOwnFiles, name) == kOwnFiles.end();
}

}  // namespace

void Documents::tell_files(std::vector<WrittenFile>& files) const {
  for (const auto& [name, document] : documents_) files.push_back({name, &document.file, document.bytes, 0, document.cut.seen(), 0});
}

Status Documents::add(std::string_view name, std::string_view content, bool append) {
  if (!is_document_name(name)) return invalid_argument(concat(quote(name), " is no name of a file beside the tensors of a dump"));
  const std::lock_guard lock(mutex_);
  auto found = documents_.find(name);
  if (found != documents_.end() && !append) return {};
  if (found == documents_.end() && documents_.size() == kMost) {
    return Status(StatusCode::kExhausted, concat("the dump has ", kMost, " files beside its tensors already"));
  }
  TENSORTAP_RETURN_IF_ERROR(room_.take(content.size()));
  if (found == documents_.end()) {
    auto file = folder_.open_file(name, O_RDWR | O_CREAT | O_EXCL, access_);
    if (!file.ok()) {
      room_.give_back(content.size());
      return file.status();
    }
    found = documents_.emplace(std::string(name), Document{*std::move(file)}).first;
  }
  Document& document = found->second;
  if (Status status = document.cut.append(document.file, document.bytes, std::as_bytes(std::span(content))); !status.ok()) {
    room_.give_back(content.size());
    return status;
  }
  document.bytes += content.size();
  bytes_.fetch_add(content.size(), std::memory_order_relaxed);
  return {};
}

}  // namespace tensortap::tap
