#include "convert/perfetto_trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "convert/nested_slices.h"
#include "convert/trace_packets.h"
#include "query/row_query.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

constexpr std::string_view kTraceFile = "trace.pftrace";
constexpr int64_t kLatest = std::numeric_limits<int64_t>::max() / 4;
constexpr uint32_t kBytesUnit = 3;
constexpr int64_t kFirstThread = 1'000'000;  // beyond the numbers of processes: a thread of the same number would be its process's first

struct Rows {
  size_t begin = 0;
  size_t end = 0;
};

// What is drawn for one rank.
struct RankTracks {
  int32_t process = 0;
  uint64_t process_track = 0;
  uint64_t steps = 0;
  uint64_t absmax = 0;
  uint64_t bytes = 0;
  std::map<uint32_t, uint64_t> threads;
};

int64_t end_of(const RecordRow& row) { return std::clamp<int64_t>(row.time_ns, 0, kLatest); }
int64_t begin_of(const RecordRow& row) { return end_of(row) - std::clamp<int64_t>(row.duration_ns, 0, end_of(row)); }
bool is_output(const RecordRow& row) { return row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput); }
auto execution_of(const RecordRow& row) {
  return std::tuple(row.rank, row.thread, end_of(row), row.op, row.call, row.step, row.run, row.phase, row.duration_ns);
}

uint64_t count_of(const TensorStats& stats, uint32_t bit, uint64_t count) { return (stats.valid & bit) != 0 ? count : 0; }

bool has_finite_absmax(const RecordRow& row) { return (row.stats.valid & kStatAbsMax) != 0 && std::isfinite(row.stats.absmax); }

std::string described(const RecordRow& row) {
  const TensorDesc desc = row.desc();
  const std::string absmax = (row.stats.valid & kStatAbsMax) != 0 ? concat(", absmax ", to_text(row.stats.absmax)) : "";
  return concat(dtype_name(desc.dtype), desc.shape.to_text(), absmax);
}

// Draws the executions of a dump. `rows` have a duration and are in the order of execution_of().
class Timeline {
 public:
  Timeline(const DumpIndex& dump, std::span<const uint32_t> rows, TracePackets::Write write)
      : dump_(dump), rows_(rows), packets_(std::move(write)) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 || execution_of(row(i)) != execution_of(row(i - 1))) executions_.push_back({i, i});
      executions_.back().end = i + 1;
    }
  }

  [[nodiscard]] size_t executions() const { return executions_.size(); }

  // `others` are outputs besides, that may have NaN or Inf.
  Status draw(std::span<const uint32_t> others, const ConvertProgress& progress) {
    TENSORTAP_RETURN_IF_ERROR(add_tracks(others));
    size_t done = 0;
    for (size_t first = 0; first < executions_.size();) {
      size_t last = first;
      while (last < executions_.size() && same_thread(row_of(first), row_of(last))) ++last;
      TENSORTAP_RETURN_IF_ERROR(draw_thread(first, last, done, progress));
      first = last;
    }
    for (const uint32_t index : rows_) TENSORTAP_RETURN_IF_ERROR(draw_nonfinite(dump_.rows()[index]));
    for (const uint32_t index : others) TENSORTAP_RETURN_IF_ERROR(draw_nonfinite(dump_.rows()[index]));
    TENSORTAP_RETURN_IF_ERROR(draw_steps());
    return packets_.finish();
  }

 private:
  [[nodiscard]] const RecordRow& row(size_t place) const { return dump_.rows()[rows_[place]]; }
  [[nodiscard]] const RecordRow& row_of(size_t execution) const { return row(executions_[execution].begin); }
  static bool same_thread(const RecordRow& a, const RecordRow& b) { return a.rank == b.rank && a.thread == b.thread; }

  Status add_tracks(std::span<const uint32_t> others) {
    for (const uint32_t index : rows_) TENSORTAP_RETURN_IF_ERROR(add_thread(dump_.rows()[index]));
    for (const uint32_t index : others) TENSORTAP_RETURN_IF_ERROR(add_thread(dump_.rows()[index]));
    return {};
  }

  Status add_thread(const RecordRow& row) {
    const auto [place, is_new] = ranks_.try_emplace(row.rank);
    RankTracks& rank = place->second;
    if (is_new) {
      rank.process = static_cast<int32_t>(ranks_.size());
      rank.process_track = ++tracks_;
      TENSORTAP_RETURN_IF_ERROR(packets_.add_process(rank.process_track, rank.process, concat("rank ", row.rank)));
      rank.steps = ++tracks_;
      TENSORTAP_RETURN_IF_ERROR(packets_.add_track(rank.steps, rank.process_track, "steps"));
      rank.absmax = ++tracks_;
      TENSORTAP_RETURN_IF_ERROR(packets_.add_counter(rank.absmax, rank.process_track, "absmax of outputs", 0));
      rank.bytes = ++tracks_;
      TENSORTAP_RETURN_IF_ERROR(packets_.add_counter(rank.bytes, rank.process_track, "bytes of outputs", kBytesUnit));
    }
    const auto [thread, is_new_thread] = rank.threads.try_emplace(row.thread, tracks_ + 1);
    if (!is_new_thread) return {};
    ++tracks_;
    const int64_t number = kFirstThread + static_cast<int64_t>(tracks_);
    return packets_.add_thread(thread->second, rank.process, number, concat("thread ", row.thread));
  }

  Status draw_thread(size_t first, size_t last, size_t& done, const ConvertProgress& progress) {
    std::vector<TimeSlice> slices;
    slices.reserve(last - first);
    for (size_t i = first; i < last; ++i) slices.push_back({begin_of(row_of(i)), end_of(row_of(i)), static_cast<uint32_t>(i)});
    const uint64_t track = ranks_[row_of(first).rank].threads[row_of(first).thread];
    for (const SliceEdge& edge : nested_edges(slices)) {
      if (!edge.begins) {
        TENSORTAP_RETURN_IF_ERROR(packets_.add({track, edge.time, TraceEventType::kEnd, "", "", {}}));
        continue;
      }
      TENSORTAP_RETURN_IF_ERROR(begin_slice(track, edge));
      TENSORTAP_RETURN_IF_ERROR(count_outputs(executions_[edge.item]));
      if (progress) progress(++done, executions_.size());
    }
    return {};
  }

  Status begin_slice(uint64_t track, const SliceEdge& edge) {
    const RecordRow& head = row_of(edge.item);
    const OpInfo& op = op_of(dump_, head);
    std::vector<TraceNote> notes = {
        {"step", head.step}, {"call", int64_t{head.call}}, {"phase", phase_name(static_cast<Phase>(head.phase))}};
    if (!op.module.empty()) notes.push_back({"module", std::string_view(op.module)});
    if (!op.source_location.empty()) notes.push_back({"source", std::string_view(op.source_location)});
    for (size_t i = executions_[edge.item].begin; i < executions_[edge.item].end; ++i) {
      const auto kind = static_cast<SlotKind>(row(i).slot_kind);
      notes.push_back(
          {slot_names_.emplace(std::pair(kind, row(i).slot_index), slot_name(kind, row(i).slot_index)).first->second, described(row(i))});
    }
    return packets_.add({track, edge.time, TraceEventType::kBegin, op.name, op.type, notes});
  }

  Status count_outputs(const Rows& execution) {
    double absmax = -1;
    uint64_t bytes = 0;
    for (size_t i = execution.begin; i < execution.end; ++i) {
      if (!is_output(row(i))) continue;
      if (has_finite_absmax(row(i))) absmax = std::max(absmax, row(i).stats.absmax);
      bytes = std::min<uint64_t>(bytes + std::min<uint64_t>(row(i).bytes, kLatest), kLatest);
    }
    const RankTracks& rank = ranks_[row(execution.begin).rank];
    const int64_t time = end_of(row(execution.begin));
    if (absmax >= 0) TENSORTAP_RETURN_IF_ERROR(packets_.count(rank.absmax, time, absmax));
    return packets_.count(rank.bytes, time, static_cast<int64_t>(bytes));
  }

  Status draw_nonfinite(const RecordRow& row) {
    if (!is_output(row)) return {};
    const auto nan = static_cast<int64_t>(count_of(row.stats, kStatNan, row.stats.nan));
    const auto positive = static_cast<int64_t>(count_of(row.stats, kStatPosInf, row.stats.pos_inf));
    const auto negative = static_cast<int64_t>(count_of(row.stats, kStatNegInf, row.stats.neg_inf));
    if (nan == 0 && positive == 0 && negative == 0) return {};
    const std::vector<TraceNote> notes = {
        {"record", record_name(row, op_of(dump_, row).name)}, {"nan", nan}, {"pos_inf", positive}, {"neg_inf", negative}};
    const uint64_t track = ranks_[row.rank].threads[row.thread];
    return packets_.add({track, end_of(row), TraceEventType::kInstant, nan != 0 ? "NaN" : "Inf", "non-finite", notes});
  }

  Status draw_steps() {
    std::map<std::pair<int32_t, int64_t>, TimeSlice> steps;
    for (size_t i = 0; i < executions_.size(); ++i) {
      const RecordRow& head = row_of(i);
      TimeSlice& step = steps.try_emplace({head.rank, head.step}, TimeSlice{begin_of(head), end_of(head), 0}).first->second;
      step.begin = std::min(step.begin, begin_of(head));
      step.end = std::max(step.end, end_of(head));
    }
    for (auto& [rank, tracks] : ranks_) {
      std::vector<TimeSlice> slices;
      std::vector<int64_t> numbers;
      for (auto place = steps.lower_bound({rank, std::numeric_limits<int64_t>::min()}); place != steps.end() && place->first.first == rank;
           ++place) {
        place->second.item = static_cast<uint32_t>(numbers.size());
        slices.push_back(place->second);
        numbers.push_back(place->first.second);
      }
      for (const SliceEdge& edge : nested_edges(slices)) {
        const auto type = edge.begins ? TraceEventType::kBegin : TraceEventType::kEnd;
        TENSORTAP_RETURN_IF_ERROR(packets_.add({tracks.steps, edge.time, type, concat("step ", numbers[edge.item]), "", {}}));
      }
    }
    return {};
  }

  const DumpIndex& dump_;
  std::span<const uint32_t> rows_;
  TracePackets packets_;
  std::vector<Rows> executions_;
  std::map<int32_t, RankTracks> ranks_;
  std::map<std::pair<SlotKind, uint16_t>, std::string> slot_names_;
  uint64_t tracks_ = 0;
};

}  // namespace

Status export_perfetto(const DumpIndex& dump, const ConvertRequest& request, const std::string& file, const ConvertProgress& progress,
                       TargetFolder& target, ConvertReport& report) {
  auto rows = select_rows(dump, {});
  if (!rows.ok()) return rows.status();
  const auto split = std::ranges::stable_partition(*rows, [&](uint32_t index) {
    const RecordRow& row = dump.rows()[index];
    return row.duration_ns >= 0 && row.moment == static_cast<uint8_t>(Moment::kAfter);
  });
  const std::span<uint32_t> timed(rows->begin(), split.begin());
  if (timed.empty()) {
    return invalid_argument(
        concat(request.sources[0],
               ": no record has the duration of its op; dumps of the layout tap have durations, unless the source did not measure them"));
  }
  std::ranges::stable_sort(timed, {}, [&](uint32_t index) { return execution_of(dump.rows()[index]); });
  report.sources = rows->size();
  TENSORTAP_RETURN_IF_ERROR(make_directories(target.path()));
  uint64_t bytes = 0;
  const auto fill = [&](File& out) {
    Timeline timeline(dump, timed, [&](std::string_view text) {
      bytes += text.size();
      return out.write(text);
    });
    return timeline.draw(split, progress);
  };
  TENSORTAP_RETURN_IF_ERROR(target.write("", file.empty() ? std::string(kTraceFile) : file, 0, fill));
  target.count_bytes(bytes);
  return {};
}

}  // namespace tensortap
