#include "api/session_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/job_rank.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/process.h"
#include "base/running_captures.h"
#include "base/text.h"

namespace tensortap {
namespace {

std::atomic<unsigned> sessions{0};  // of this process, to tell them apart

}  // namespace

Json counts_to_json(const SessionCounts& counts) {
  return {{"steps", {{"seen", counts.steps_seen}, {"captured", counts.steps_captured}}},
          {"records", counts.records},
          {"bytes", counts.bytes},
          {"lost", counts.lost}};
}

std::unique_ptr<SessionFiles> SessionFiles::create(const SessionFacts& facts, const SessionCounts& counts, bool on, Status& problem) {
  std::unique_ptr<SessionFiles> files(new SessionFiles);
  files->number_ = sessions.fetch_add(1) + 1;
  std::error_code error;
  // The program may go to another folder.
  files->dump_ = std::filesystem::absolute(facts.dump, error).lexically_normal().string();
  if (error || files->dump_.empty()) files->dump_ = facts.dump;
  files->access_ = facts.access;
  problem = files->make_folder(facts.shared_folder);
  if (!problem.ok()) return files;
  files->head_ = to_json_text(files->head_of(facts));
  files->head_.pop_back();
  files->update(counts, on);
  problem = files->link();
  return files;
}

Status SessionFiles::make_folder(bool shared) {
  folder_ = dump_;
  TENSORTAP_ASSIGN_OR_RETURN(held_, Folder::open(dump_));
  if (!shared) return {};
  const std::string own = join_path(kSharedFolder, concat(kSessionFolder, ::getpid(), "-", number_));
  folder_ = join_path(dump_, own);
  TENSORTAP_ASSIGN_OR_RETURN(held_, held_->make_below(own, folder_mode(access_)));
  shared_ = true;
  return {};
}

Json SessionFiles::head_of(const SessionFacts& facts) const {
  const ProcessIdentity own = own_process();
  return {{"tensortap", TENSORTAP_VERSION},
          {"pid", own.number},
          {"process_start", own.start},
          {"pid_space", own.space},
          {"exec", text_or_null(exec_name())},
          {"program", facts.program},
          {"source", facts.source},
          {"model", text_or_null(facts.model)},
          {"rank", facts.rank},
          {"world_size", facts.world_size},
          {"layout", facts.layout},
          {"dump", dump_},
          {"started", wall_clock_iso()}};
}

// The name tells who it is of, so that a left-over is known without a look at the dump.
Status SessionFiles::link() {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string folder, make_running_folder());
  const ProcessIdentity own = own_process();
  const std::string path = join_path(folder, concat(kSessionLink, own.number, "-", own.start, "-", number_));
  if (::symlink(join_path(folder_, kSessionFile).c_str(), path.c_str()) != 0) return errno_status(path, errno);
  link_ = path;
  return {};
}

void SessionFiles::update(const SessionCounts& counts, bool on) {
  Json changing = counts_to_json(counts);
  if (auto process = parse_json(counts.process, "process"); process.ok()) changing["process"] = *std::move(process);
  changing["on"] = on;
  const std::string text = concat(head_, ", ", to_json_text(changing).substr(1), "\n");
  if (head_.empty() || text == told_) return;
  // The dump may be gone, or the disk full: readers then see the earlier content.
  if (held_->replace_file(kSessionFile, text, access_).ok()) told_ = text;
}

Status SessionFiles::write_reply(std::string_view text) {
  if (!held_.has_value()) return not_found(concat(folder_, ": could not be opened"));
  return held_->replace_file(kReplyFile, text, access_);
}

SessionFiles::~SessionFiles() {
  if (!link_.empty()) ::unlink(link_.c_str());
  if (head_.empty()) return;
  for (const std::string_view name : {kSessionFile, kControlFile, kReplyFile}) (void)held_->remove(name);
  if (!shared_) return;
  ::rmdir(folder_.c_str());
  ::rmdir(parent_path(folder_).c_str());
}

}  // namespace tensortap
