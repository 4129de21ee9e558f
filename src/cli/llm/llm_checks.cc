#include "cli/llm/llm_checks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/files.h"
#include "base/text.h"

namespace tensortap::cli {
namespace {

constexpr uint64_t kMostBytesOfConfig = uint64_t{64} << 20;

// The folder itself, or the nearest parent that exists.
std::string nearest_existing(const std::string& path) {
  std::string part = std::filesystem::absolute(path).lexically_normal().string();
  while (part.size() > 1 && (part.ends_with('/') || !path_exists(part)))
    part = part.ends_with('/') ? part.substr(0, part.size() - 1) : parent_path(part);
  return part;
}

}  // namespace

Status check_output_folder(const std::string& output, std::vector<std::string>& warnings) {
  constexpr std::string_view kMarks = "_.:/-";
  const auto wrong =
      std::ranges::find_if_not(output, [&](char c) { return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos; });
  if (wrong != output.end()) {
    return invalid_argument(fmt::format("--output: {} holds {}; readers of these dumps take letters, digits and {} in paths", quote(output),
                                        quote(std::string_view(&*wrong, 1)), kMarks));
  }
  if (output.empty()) return invalid_argument("--output: a folder is wanted, not an empty text");
  const std::string there = nearest_existing(output);
  if (!is_directory(there)) return invalid_argument(fmt::format("--output: {} is a file; choose a folder", quote(there)));
  if (access(there.c_str(), W_OK | X_OK) != 0) return invalid_argument(fmt::format("--output: you cannot write to {}", quote(there)));
  struct stat facts {};
  if (stat(there.c_str(), &facts) != 0) return errno_status(there, errno);
  if (geteuid() != 0 && facts.st_uid != geteuid()) warnings.push_back(fmt::format("--output: {} belongs to another user", quote(there)));
  // In a folder such as /tmp only its owner can take a file away.
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (facts.st_mode & S_ISVTX) == 0)
    warnings.push_back(fmt::format("--output: others than its owner can write {}", quote(there)));
  return {};
}

Status check_disk_room(const std::string& output, uint64_t least) {
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t room, free_disk_bytes(nearest_existing(output)));
  if (room >= least) return {};
  return Status(StatusCode::kExhausted,
                fmt::format("Disk space is not enough, it's must more than 2G, free size(MB) is: {} ({}). Please make sure that the "
                            "remaining disk space in the dump path is greater than 2 GB",
                            room >> 20U, quote(nearest_existing(output))));
}

Result<std::string> read_llm_config(const std::string& path) {
  Result<std::string> text = read_file(path, kMostBytesOfConfig);
  if (!text.ok()) return text.status().with_context("--config-path");
  return text;
}

}  // namespace tensortap::cli
