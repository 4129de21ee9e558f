#include "system/msit/tree/times.h"

#include <iterator>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "tree/named_folder.h"

namespace tensortap::msit {
namespace {

constexpr std::string_view kTimeColumns = "opname,execute_kernelExecuteTime,execute_launchTime,execute_totalTime,setup_totalTime\n";

// Whole microseconds, as the runtime has them; nothing for what was not measured.
std::string microseconds(int64_t nanoseconds) {
  constexpr int64_t kNanoseconds = 1000;
  return nanoseconds < 0 ? "" : to_text(nanoseconds / kNanoseconds);
}

}  // namespace

Status Times::see(OpId id, const TimedOp& op, const RecordRow& event) {
  Status status;
  Round& round = rounds_[event.run];
  if (round.number != event.step || round.process != op.process) {
    // Rows of other runs do not wait for their next round, which may never come.
    status = finish();
    round.number = event.step;
    round.process = op.process;
    round.operators.clear();
  }
  const auto inside = round.operators.extract(id);
  Spent spent{event.duration_ns, op.is_operator ? event.duration_ns : inside.empty() ? 0 : inside.mapped()};
  // A module and the operators inside it were timed separately.
  if (spent.total >= 0 && spent.operators > spent.total) spent.operators = spent.total;
  if (op.parent != kNoOp && spent.operators >= 0) round.operators[op.parent] += spent.operators;
  if ((event.flags & kRecordFailedOp) != 0) return status;
  const auto [place, is_new] = round.places.try_emplace(std::string(op.name), round.rows.size());
  if (is_new) round.rows.emplace_back(op.name, spent);
  round.rows[place->second].second = spent;
  return status;
}

void Times::take_rows(Round& round) {
  if (round.rows.empty()) return;
  const std::string process = round.process.substr(round.process.find('_') + 1);
  std::string& rows = waiting_[concat("cpu_profiling/", process, "/operation_statistic_", round.number, ".csv")];
  for (const auto& [operation, spent] : round.rows) {
    const int64_t launch = spent.total < 0 ? -1 : spent.total - spent.operators;
    rows += concat(operation, ",", microseconds(spent.operators), ",", microseconds(launch), ",", microseconds(spent.total), ",0\n");
  }
  round.rows.clear();
  round.places.clear();
}

Status Times::write(const std::string& name, const std::string& rows) {
  const std::string below = concat(options_.dump, "/", parent_path(name));
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, NamedFolder::create(*options_.root, below, {.access = options_.access}));
  TENSORTAP_RETURN_IF_ERROR(folder->append(file_name(name), begun_.contains(name) ? rows : concat(kTimeColumns, rows)));
  begun_.insert(name);
  return {};
}

Status Times::write_waiting() {
  Status first;
  for (auto file = waiting_.begin(); file != waiting_.end();) {
    const Status status = write(file->first, file->second);
    if (first.ok()) first = status;
    file = status.ok() ? waiting_.erase(file) : std::next(file);
  }
  return first;
}

Status Times::finish() {
  for (auto& [run, round] : rounds_) take_rows(round);
  return write_waiting();
}

}  // namespace tensortap::msit
