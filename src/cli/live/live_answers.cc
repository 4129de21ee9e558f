#include "cli/live/live_answers.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "cli/live/capture_talk.h"

namespace tensortap::cli {
namespace {

constexpr int64_t kBetweenOpenings = 1'000'000'000;
constexpr int64_t kShareOfOpening = 4;  // times what an opening took pass until the next one
constexpr long kBetweenEvents = 250'000'000;
constexpr int64_t kWaitForAnswer = 5'000'000'000;

// How long a dump is not opened again that took so long to open.
int64_t pause_after(int64_t opening_ns) { return std::max(kBetweenOpenings, kShareOfOpening * opening_ns); }

std::string event(std::string_view name, const Json& data) { return concat("event: ", name, "\ndata: ", to_json_text(data), "\n\n"); }

Json ended_state() { return {{"state", "ended"}, {"on", false}}; }

// As the page reads it: what became of a change in all processes of the program.
Json reply_json(const std::vector<ControlAnswer>& answers) {
  Json json = {{"accepted", true}, {"reason", nullptr}, {"from_step", nullptr}, {"back_at", nullptr}};
  for (const ControlAnswer& answer : answers) {
    if (answer.kind == ControlAnswer::Kind::kAccepted) {
      if (json["accepted"] == true && answer.from_step) json["from_step"] = *answer.from_step;
      if (json["accepted"] == true) json["back_at"] = member_or_null(answer.reply, "back_at");
      continue;
    }
    json["accepted"] = false;
    json["from_step"] = nullptr;
    json["reason"] = answer.kind == ControlAnswer::Kind::kRefused ? text_in(answer.reply, "reason")
                     : answer.kind == ControlAnswer::Kind::kEnded ? "the program ended before it took the change"
                                                                  : "no step began within 5 s; the change is taken at the next step";
  }
  return json;
}

}  // namespace

// Answers that look through a dump end when they have, which may take long: no request waits for it.
class LiveAnswers::Retired {
 public:
  void add(const WebAnswers* answers) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      std::erase_if(ending_,
                    [](const std::future<void>& one) { return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
      ending_.push_back(std::async(std::launch::async, [answers] { delete answers; }));
    } catch (const std::exception&) {  // no thread for it
      delete answers;
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::future<void>> ending_;
};

LiveAnswers::LiveAnswers(std::string a, std::string b, SourceFiles sources)
    : a_(std::move(a)), b_(std::move(b)), sources_(std::move(sources)), retired_(std::make_shared<Retired>()) {}

Result<std::unique_ptr<LiveAnswers>> LiveAnswers::open(const std::string& a, const std::string& b, const SourceFiles& sources) {
  auto live = std::unique_ptr<LiveAnswers>(new LiveAnswers(a, b, sources));
  live->is_live_ = b.empty() && !sessions_in(a).empty();
  live->was_live_ = live->is_live_;
  const int64_t begin = monotonic_ns();
  TENSORTAP_ASSIGN_OR_RETURN(auto opened, live->is_live_ ? WebAnswers::open_growing(a, sources) : WebAnswers::open(a, b, sources));
  live->take(std::move(opened));
  live->looked_ns_ = monotonic_ns();
  live->pause_ns_ = pause_after(live->looked_ns_ - begin);
  return live;
}

std::shared_ptr<const WebAnswers> LiveAnswers::answers() const {
  const std::lock_guard lock(mutex_);
  return answers_;
}

bool LiveAnswers::is_live() const {
  const std::lock_guard lock(mutex_);
  return is_live_;
}

void LiveAnswers::take(std::unique_ptr<WebAnswers> opened) {
  answers_ = {opened.release(), [retired = retired_](const WebAnswers* one) { retired->add(one); }};
}

std::shared_ptr<const WebAnswers> LiveAnswers::newest() {
  std::shared_ptr<const WebAnswers> known;
  {
    const std::lock_guard lock(mutex_);
    if (!is_live_ || is_opening_ || monotonic_ns() - looked_ns_ < pause_ns_) return answers_;
    is_opening_ = true;
    known = answers_;
  }
  const int64_t begin = monotonic_ns();
  const bool runs = !sessions_in(a_).empty();
  // If the dump cannot be opened at the moment, the earlier answers stay.
  Result<std::unique_ptr<WebAnswers>> opened = not_found("nothing is new");
  if (!runs) opened = WebAnswers::open(a_, b_, sources_);
  if (runs && known->dumps().front()->changed()) opened = WebAnswers::open_growing(a_, sources_);
  const std::lock_guard lock(mutex_);
  if (opened.ok()) take(*std::move(opened));
  is_opening_ = false;
  is_live_ = runs;
  looked_ns_ = monotonic_ns();
  pause_ns_ = pause_after(looked_ns_ - begin);
  return answers_;
}

std::optional<Json> LiveAnswers::state(const WebAnswers& answers) const {
  const std::vector<RunningSession> sessions = sessions_in(a_);
  if (sessions.empty()) return std::nullopt;
  Json json = session_json(sessions.front());
  json["on"] = sessions.front().on;
  const Json* governor = member(answers.dumps().front()->manifest(), "governor");
  json["overhead"] = governor == nullptr ? Json(nullptr) : member_or_null(*governor, "measured_overhead");
  return json;
}

WebService::Events LiveAnswers::events() {
  struct Sent {
    std::optional<size_t> records;
    std::string state;
    bool has_ended = false;
  };
  return [this, sent = std::make_shared<Sent>()]() -> std::optional<std::string> {
    if (sent->has_ended) return std::nullopt;
    if (sent->records) {
      const timespec pause{0, kBetweenEvents};
      nanosleep(&pause, nullptr);
    }
    const auto answers = newest();
    const size_t records = answers->dumps().front()->rows().size();
    std::string text;
    if (sent->records != records) text += event("records", {{"from", sent->records.value_or(0)}, {"to", records}, {"total", records}});
    sent->records = records;
    std::optional<Json> now = state(*answers);
    sent->has_ended = !now && !is_live();
    if (sent->has_ended) now = ended_state();
    const std::string state_text = now ? event("state", *now) : std::string();
    if (now && state_text != sent->state) text += state_text;
    sent->state = state_text;
    return text;
  };
}

Answer LiveAnswers::state_now() {
  if (!was_live_) return error_answer(404, "nothing here is live");
  const auto answers = newest();
  const std::optional<Json> now = state(*answers);
  const bool has_ended = !now && !is_live();
  return json_answer({{"records", answers->dumps().front()->rows().size()},
                      {"state", now         ? *now
                                : has_ended ? ended_state()
                                            : Json(nullptr)}});
}

Answer LiveAnswers::set(std::string_view body) {
  if (!is_live()) return error_answer(404, "no capture runs in this dump");
  auto request = parse_json(body, "request");
  if (!request.ok()) return error_answer(request.status());
  if (!request->is_object() || request->empty()) return error_answer(400, "request: not an object with what is to change");
  request->erase("seq");
  std::vector<RunningSession> sessions = sessions_in(a_);
  if (sessions.empty()) return error_answer(404, "the program has ended");
  for (const RunningSession& session : sessions) {
    if (session.owner != ::geteuid()) return error_answer(403, "the capture belongs to another user, who alone can control it");
  }
  const auto answers = ask_sessions(sessions, *request, monotonic_ns() + kWaitForAnswer);
  return answers.ok() ? json_answer(reply_json(*answers)) : error_answer(answers.status());
}

WebService LiveAnswers::service() {
  WebService service;
  service.get = [this](std::string_view target) { return target == "/api/live/state" ? state_now() : newest()->get(target); };
  service.post = [this](std::string_view /*target*/, std::string_view body) { return set(body); };
  service.events = [this](std::string_view target) { return target == "/api/live" && is_live() ? events() : nullptr; };
  return service;
}

}  // namespace tensortap::cli
