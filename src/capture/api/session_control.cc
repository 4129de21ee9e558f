#include "api/session_control.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/running_captures.h"
#include "base/text.h"

namespace tensortap {

void SessionControl::look(std::optional<int64_t> step) {
  // A forked child has its parent's session, and says nothing in its name.
  if (session_.state().is_off_for(SessionProblems::kLeftAlone)) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (step.has_value() && returning_.has_value()) return_to_plan(*step);
  const int64_t now = coarse_monotonic_ns();
  if (now >= next_look_.load(std::memory_order_relaxed)) {
    next_look_.store(now + interval_, std::memory_order_relaxed);
    if (has_changed()) read();
    tell(now);
  }
  if (request_.has_value()) take(step);
}

bool SessionControl::has_changed() {
  struct stat now {};
  if (::lstat(join_path(files_->folder(), kControlFile).c_str(), &now) != 0) now = {};
  const bool same = seen_.st_ino == now.st_ino && seen_.st_size == now.st_size && seen_.st_mtim.tv_sec == now.st_mtim.tv_sec &&
                    seen_.st_mtim.tv_nsec == now.st_mtim.tv_nsec && seen_.st_ctim.tv_sec == now.st_ctim.tv_sec &&
                    seen_.st_ctim.tv_nsec == now.st_ctim.tv_nsec;
  seen_ = now;
  return !same && now.st_ino != 0;
}

void SessionControl::read() {
  request_.reset();
  waits_for_step_.store(false, std::memory_order_relaxed);
  const Result<std::string> text = read_owned_file(join_path(files_->folder(), kControlFile), ::geteuid());
  if (!text.ok()) return answer({{0, text.status()}}, std::nullopt);
  Result<ControlRequest> request = parse_control(*text, std::string(kControlFile));
  if (!request.ok()) return answer({{sequence_of(*text), request.status()}}, std::nullopt);
  request_ = *std::move(request);
  // It may have been answered after the file was written.
  std::erase_if(request_->before, [this](const ControlRequest& earlier) { return earlier.seq <= last_answered_; });
}

void SessionControl::take(std::optional<int64_t> step) {
  const bool needs_step = request_->changes_plan() || std::ranges::any_of(request_->before, &ControlRequest::changes_plan);
  // While two plans are in use, a third would begin later than it says.
  if (needs_step && (!step.has_value() || !session_.takes_plan_at_once())) {
    waits_for_step_.store(true, std::memory_order_relaxed);
    return;
  }
  waits_for_step_.store(false, std::memory_order_relaxed);
  ControlRequest last = *std::exchange(request_, std::nullopt);
  std::vector<ControlRequest> requests = std::exchange(last.before, {});
  requests.push_back(std::move(last));
  Outcomes outcomes;
  for (const ControlRequest& request : requests) outcomes.emplace_back(request.seq, Status());
  std::optional<int64_t> number;
  if (session_.state().is_off_for(SessionProblems::kOffForGood)) {
    for (auto& [seq, status] : outcomes) {
      status = unsupported(concat("the capture has switched itself off: ", session_.state().first_error().message()));
    }
  } else {
    if (needs_step) {
      CaptureSpec before = returning_.has_value() ? *returning_ : session_.asked();
      change_plan(requests, number.emplace(*step + session_.options().spec.first_step), outcomes);
      if (outcomes.back().second.ok() && requests.back().changes_plan()) remember_return(requests.back(), std::move(before));
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      if (outcomes[i].second.ok()) outcomes[i].second = write_out(requests[i]);
    }
  }
  answer(outcomes, outcomes.back().second.ok() && session_.is_on() ? number : std::nullopt);
}

void SessionControl::change_plan(std::span<const ControlRequest> requests, int64_t step, Outcomes& outcomes) {
  CaptureSpec next = returning_.has_value() ? *returning_ : session_.asked();
  std::vector<PlanChange> changes;
  std::vector<size_t> taken;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].changes_plan()) continue;
    Result<CaptureSpec> changed = changed_spec(requests[i], next, step);
    outcomes[i].second = changed.status();
    if (!changed.ok()) continue;
    next = *std::move(changed);
    changes.push_back({"tensortap set", requests[i].plan_text()});
    taken.push_back(i);
  }
  if (taken.empty()) return;
  const Status status = session_.replace_plan(std::move(next), std::move(changes));
  for (const size_t i : taken) outcomes[i].second = status;
  // One that cannot be done does not take the last one with it.
  if (status.ok() || taken.size() == 1 || taken.back() + 1 != requests.size()) return;
  Outcomes alone = {outcomes.back()};
  change_plan(requests.last(1), step, alone);
  outcomes.back() = alone.front();
}

void SessionControl::remember_return(const ControlRequest& last, CaptureSpec before) {
  returning_.reset();
  last_before_return_.store(kNoReturn, std::memory_order_relaxed);
  const int64_t end = session_.asked().steps.last();
  if (!last.then_back || end == kNoReturn) return;
  returning_ = std::move(before);
  last_before_return_.store(end - session_.options().spec.first_step, std::memory_order_relaxed);
}

void SessionControl::return_to_plan(int64_t step) {
  if (step <= last_before_return_.load(std::memory_order_relaxed) || !session_.takes_plan_at_once()) return;
  last_before_return_.store(kNoReturn, std::memory_order_relaxed);
  const Status status = session_.replace_plan(*std::exchange(returning_, std::nullopt), {{"tensortap set", R"({"then":"back"})"}});
  if (!status.ok()) session_.state().add_note(concat("the plan before did not return: ", status.message()));
}

Status SessionControl::write_out(const ControlRequest& request) {
  if (request.snapshot && !session_.write_last_ops()) {
    return unsupported("snapshot: this session keeps no last ops in memory; start it with a config that has \"limits\": {\"ring_ops\": N}");
  }
  return request.flush || request.snapshot ? session_.flush() : Status();
}

void SessionControl::answer(const Outcomes& outcomes, std::optional<int64_t> from_step) {
  const SessionCounts counts = session_.counts();
  const bool on = session_.is_on() && !session_.asked().idle;
  files_->update(counts, on);
  Json reply = counts_to_json(counts);
  const auto reason = [](const Status& status) { return status.ok() ? Json(nullptr) : Json(status.message()); };
  const auto& [seq, status] = outcomes.back();
  last_answered_ = std::max(last_answered_, seq);
  reply["seq"] = seq;
  reply["accepted"] = status.ok();
  reply["reason"] = reason(status);
  reply["from_step"] = from_step.has_value() ? Json(*from_step) : Json(nullptr);
  reply["on"] = on;
  const int64_t last = last_before_return_.load(std::memory_order_relaxed);
  reply["back_at"] = last == kNoReturn ? Json(nullptr) : Json(last + 1 + session_.options().spec.first_step);
  reply["unmatched"] = from_step.has_value() ? Json(session_.unmatched()) : Json::array();
  reply["before"] = Json::array();
  for (size_t i = 0; i + 1 < outcomes.size(); ++i) {
    const auto& [earlier, outcome] = outcomes[i];
    reply["before"].push_back({{"seq", earlier}, {"accepted", outcome.ok()}, {"reason", reason(outcome)}});
  }
  if (Status written = files_->write_reply(to_json_text(reply) + "\n"); !written.ok()) {
    session_.state().add_note(concat("`tensortap set` could not be answered: ", written.message()));
  }
}

void SessionControl::tell_now() {
  if (session_.state().is_off_for(SessionProblems::kLeftAlone)) return;
  const std::lock_guard lock(mutex_);
  next_tell_ = 0;
  tell(coarse_monotonic_ns());
}

void SessionControl::tell(int64_t now) {
  if (now < next_tell_) return;
  next_tell_ = now + kTellInterval;
  files_->update(session_.counts(), session_.is_on() && !session_.asked().idle);
}

}  // namespace tensortap
