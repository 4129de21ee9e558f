#include "convert/target_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"

namespace tensortap {
namespace {

constexpr size_t kLongestTargetName = 255;

}  // namespace

Result<std::string> TargetFolder::folder_for(const std::string& below) {
  const std::string folder = below.empty() ? path_ : join_path(path_, below);
  const std::lock_guard lock(mutex_);
  if (made_.contains(folder)) return folder;
  TENSORTAP_RETURN_IF_ERROR(make_directories(folder));
  made_.insert(folder);
  return folder;
}

Status TargetFolder::add_mapping(const std::string& folder, const std::string& stored, const std::string& name) {
  const std::lock_guard lock(mutex_);
  TENSORTAP_ASSIGN_OR_RETURN(File mapping, File::open(join_path(folder, "mapping.csv"), O_WRONLY | O_CREAT | O_APPEND));
  return mapping.write(concat(stored, ",", name, "\n"));
}

Status TargetFolder::write(const std::string& below, const std::string& name, uint64_t bytes, const std::function<Status(File&)>& fill) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string folder, folder_for(below));
  std::string stored = name;
  if (name.size() > kLongestTargetName) {
    const size_t dot = name.rfind('.');
    stored = concat(std::hash<std::string>()(name), name.substr(dot == std::string::npos ? name.size() : dot));
    TENSORTAP_RETURN_IF_ERROR(add_mapping(folder, stored, name));
  }
  const std::string path = join_path(folder, stored);
  const std::string temporary = join_path(folder, concat(".tensortap-", ::getpid(), "-", next_.fetch_add(1)));
  TENSORTAP_ASSIGN_OR_RETURN(File file, File::open(temporary, O_WRONLY | O_CREAT | O_EXCL));
  Status status = fill(file);
  if (Status closed = file.close(); status.ok()) status = std::move(closed);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = errno_status(path, errno);
  if (!status.ok()) {
    (void)::unlink(temporary.c_str());
    return status;
  }
  written_.fetch_add(1);
  bytes_.fetch_add(bytes);
  return {};
}

}  // namespace tensortap
