#include "session/session_problems.h"

#include <algorithm>

#include "base/message.h"
#include "base/text.h"
#include "layout/dump_room.h"

namespace tensortap {
namespace {

constexpr size_t kMostProblems = 100;

void add_once(std::vector<std::string>& sentences, std::string_view sentence) {
  const bool is_new = std::ranges::find(sentences, sentence) == sentences.end();
  if (is_new && sentences.size() < kMostProblems) sentences.emplace_back(sentence);
}

}  // namespace

void SessionProblems::runs_unseen() {
  if (forks_.has_value() && is_off_for(kForked)) forks_->ran_in_child();
}

void SessionProblems::fail(std::string_view why) noexcept {
  if ((switch_off(kFailed) & kFailed) != 0) return;
  try {
    say(concat("capture is switched off: ", why));
    note_error(internal_error(std::string(why)));
  } catch (...) {
    // No memory even for the message: the bits in off_ are what counts.
    return;
  }
}

void SessionProblems::note_error(const Status& status) {
  if (status.ok()) return;
  note_problem(status);
  // A limit that was asked for.
  if (DumpRoom::is_no_room(status)) return;
  const std::lock_guard lock(mutex_);
  if (!first_error_.ok()) return;
  first_error_ = status;
  if (status.code() != StatusCode::kInternal) say(status.message());
}

void SessionProblems::note_failure(const Status& status) {
  if (status.code() == StatusCode::kUnsupported) {
    note_problem(status);
  } else {
    note_error(status);
  }
}

void SessionProblems::note_problem(const Status& status) {
  const std::lock_guard lock(mutex_);
  add_once(sentences_, status.message());
}

void SessionProblems::add_note(std::string_view note) {
  const std::lock_guard lock(mutex_);
  add_once(notes_, note);
}

Status SessionProblems::first_error() const {
  const std::lock_guard lock(mutex_);
  return first_error_;
}

std::vector<std::string> SessionProblems::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

std::vector<std::string> SessionProblems::sentences() const {
  const std::lock_guard lock(mutex_);
  return sentences_;
}

}  // namespace tensortap
