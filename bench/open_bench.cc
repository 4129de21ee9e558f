// The native layout: rows appended, tensors written beside write(2) of the same bytes, a million records opened and filtered.

#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <vector>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "plan/where.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr int64_t kMillion = 1000000;
constexpr OpId kOps = 1000;

std::unique_ptr<LayoutWriter> create(const std::string& folder) {
  DumpInfo info;
  info.folder = folder;
  auto writer = find_layout("tap")->create(info, CaptureSpec());
  for (OpId id = 0; id < kOps; ++id) {
    OpInfo op;
    op.name = concat("/layer", id, "/conv/Conv");
    op.type = "Conv";
    op.inputs = {{"x", id == 0 ? kNoOp : id - 1, 0}};
    op.outputs = {"y"};
    (void)(*writer)->add_op(id, op);
  }
  return *std::move(writer);
}

RecordRow row_of(int64_t number) {
  RecordRow row;
  row.op = static_cast<OpId>(number % kOps);
  row.step = number / kOps;
  row.set_desc({DType::kFloat32, {1, 64, 56, 56}});
  row.stats.valid = kStatFull;
  row.stats.nan = number % 1000 == 7 ? 1 : 0;
  return row;
}

void append_rows(benchmark::State& state) {
  const auto count = static_cast<int64_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    const TemporaryFolder folder;
    auto writer = create(folder.path());
    RecordRow row = row_of(0);
    state.ResumeTiming();
    for (int64_t i = 0; i < count; ++i) {
      row.sequence = static_cast<uint64_t>(i);
      (void)writer->add_record(row, nullptr, nullptr);
    }
    state.PauseTiming();
    (void)writer->finish("{}");
    state.ResumeTiming();
  }
  state.counters["ns/row"] = benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(count) * 1e-9,
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(append_rows)->Arg(100000)->Unit(benchmark::kMillisecond);

void open_and_filter_a_million(benchmark::State& state) {
  const TemporaryFolder folder;
  {
    auto writer = create(folder.path());
    for (int64_t i = 0; i < kMillion; ++i) {
      RecordRow row = row_of(i);
      (void)writer->add_record(row, nullptr, nullptr);
    }
    (void)writer->finish("{}");
  }
  const auto where = WhereExpression::parse("nan > 0");
  for (auto _ : state) {
    const auto dump = find_layout("tap")->open(folder.path());
    int64_t matches = 0;
    for (const RecordRow& row : (*dump)->rows()) matches += (*where)->matches(row, op_of(**dump, row)) ? 1 : 0;
    if (matches != kMillion / 1000) state.SkipWithError("wrong number of matches");
  }
}
BENCHMARK(open_and_filter_a_million)->Unit(benchmark::kMillisecond);

constexpr int64_t kTotal = int64_t{256} << 20;

void write_tensors(benchmark::State& state) {
  const std::vector<std::byte> data(static_cast<size_t>(state.range(0)), std::byte{5});
  RecordRow row;
  row.op = 0;
  row.set_desc({DType::kUInt8, {state.range(0)}});
  const TensorView view{row.desc(), data.data(), nullptr};
  for (auto _ : state) {
    state.PauseTiming();
    const TemporaryFolder folder;
    auto writer = create(folder.path());
    state.ResumeTiming();
    for (int64_t written = 0; written < kTotal; written += state.range(0)) {
      RecordRow copy = row;
      if (!writer->add_record(copy, &view, nullptr).ok()) state.SkipWithError("not written");
    }
    state.PauseTiming();
    (void)writer->finish("{}");
    state.ResumeTiming();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * kTotal);
}
BENCHMARK(write_tensors)->Arg(4 << 10)->Arg(256 << 10)->Arg(4 << 20)->Arg(64 << 20)->Unit(benchmark::kMillisecond);

void write_plainly(benchmark::State& state) {
  const std::vector<std::byte> data(static_cast<size_t>(state.range(0)), std::byte{5});
  for (auto _ : state) {
    state.PauseTiming();
    const TemporaryFolder folder;
    auto file = File::open(join_path(folder.path(), "plain"), O_WRONLY | O_CREAT);
    state.ResumeTiming();
    for (int64_t written = 0; written < kTotal; written += state.range(0)) {
      if (!file->write(data).ok()) state.SkipWithError("not written");
    }
    state.PauseTiming();
    (void)file->close();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * kTotal);
}
BENCHMARK(write_plainly)->Arg(4 << 10)->Arg(256 << 10)->Arg(4 << 20)->Arg(64 << 20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tensortap

BENCHMARK_MAIN();
