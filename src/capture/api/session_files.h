// SessionFiles: what makes a running session findable: session.json, and a link to it in the user's folder (base/running_captures.h).

#ifndef TENSORTAP_API_SESSION_FILES_H_
#define TENSORTAP_API_SESSION_FILES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/folder.h"
#include "base/json_fwd.h"
#include "base/status.h"
#include "session/session_counts.h"

namespace tensortap {

struct SessionFacts {
  std::string dump;            // its folder
  bool shared_folder = false;  // with other sessions
  Access access = Access::kPrivate;
  std::string program;
  std::string source;
  std::string model;
  std::string layout;
  int32_t rank = 0;
  int32_t world_size = 1;
};

// Removes on destruction what it made, and the files of a conversation. One thread at a time.
class SessionFiles {
 public:
  // For a session that has just been opened. `problem` gets the reason why the session cannot be found; the session runs nevertheless.
  static std::unique_ptr<SessionFiles> create(const SessionFacts& facts, const SessionCounts& counts, bool on, Status& problem);
  ~SessionFiles();
  SessionFiles(const SessionFiles&) = delete;
  SessionFiles& operator=(const SessionFiles&) = delete;

  // The folder of requests and answers; it may be gone by now.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  // Writes session.json again if something has changed.
  void update(const SessionCounts& counts, bool on);
  Status write_reply(std::string_view text);

 private:
  SessionFiles() = default;
  Status make_folder(bool shared);
  Status link();
  [[nodiscard]] Json head_of(const SessionFacts& facts) const;

  std::string dump_;  // absolute
  std::string folder_;
  std::optional<Folder> held_;  // that folder
  unsigned number_ = 0;         // among the sessions of this process
  bool shared_ = false;         // the folder is ours alone, below the dump's
  Access access_ = Access::kPrivate;
  std::string link_;  // "" = none
  std::string head_;  // the members of session.json that stay, in JSON, without its end
  std::string told_;  // what it holds now
};

// What is counted, as members of an object.
Json counts_to_json(const SessionCounts& counts);

}  // namespace tensortap

#endif  // TENSORTAP_API_SESSION_FILES_H_
