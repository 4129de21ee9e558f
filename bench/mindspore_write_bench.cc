// Tensor files of MindSpore's tree beside the floor: a loop that only opens, writes and closes files of the same names and sizes. The
// folder is $TMPDIR's: bench/overhead.py runs it once in memory and once on the disk.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr int kOps = 200;  // tensors of a step

std::string op_name(int op) { return concat("encoder/layer_", op / 10, "/attention/MatMul_", op); }

std::unique_ptr<LayoutWriter> make_writer(const std::string& folder) {
  CaptureSpec spec;
  spec.layout = "mindspore";
  spec.payload = Payload::kTensor;
  DumpInfo info;
  info.folder = folder;
  auto writer = find_layout("mindspore")->create(info, spec);
  if (!writer.ok()) return nullptr;
  OpDecision decision;
  decision.wanted = decision.outputs = true;
  for (int op = 0; op < kOps; ++op) {
    OpInfo described;
    described.name = op_name(op);
    described.type = "MatMul";
    described.outputs = {concat("value_", op)};
    const auto id = static_cast<OpId>(op);
    if (!(*writer)->add_op(id, described).ok()) return nullptr;
    (*writer)->parts().decisions->op_decided(id, decision);
  }
  return *std::move(writer);
}

void count_files(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * kOps * state.range(0));
  state.counters["files"] = benchmark::Counter(static_cast<double>(state.iterations()) * kOps, benchmark::Counter::kIsRate);
}

void empty(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) std::filesystem::remove_all(entry, ignored);
}

void floor(benchmark::State& state) {
  const TemporaryFolder folder;
  const std::vector<char> data(static_cast<size_t>(state.range(0)), 1);
  std::array<char, 128> header{};
  std::vector<std::string> names;
  for (int op = 0; op < kOps; ++op) {
    names.push_back(concat("MatMul.Default_encoder_layer_", op / 10, "_attention_MatMul_", op, "_MatMul-op", op,
                           ".0.0.1795209585054367.output.0.DefaultFormat.Float32.npy"));
  }
  for (auto _ : state) {
    for (const std::string& name : names) {
      const int fd = ::open(join_path(folder.path(), name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
      std::array<iovec, 2> pieces = {iovec{header.data(), header.size()}, iovec{const_cast<char*>(data.data()), data.size()}};
      if (fd < 0 || ::writev(fd, pieces.data(), 2) < 0 || ::close(fd) != 0) state.SkipWithError("a file cannot be written");
    }
    state.PauseTiming();
    empty(folder.path());
    state.ResumeTiming();
  }
  count_files(state);
}

void tree(benchmark::State& state) {
  const TemporaryFolder folder;
  const std::vector<float> data(static_cast<size_t>(state.range(0)) / sizeof(float), 1.0F);
  const auto writer = make_writer(folder.path());
  if (writer == nullptr) return state.SkipWithError("no writer");
  const TensorView view{{DType::kFloat32, Shape({static_cast<int64_t>(data.size())})}, data.data(), nullptr};
  int64_t step = 0;
  for (auto _ : state) {
    for (int op = 0; op < kOps; ++op) {
      RecordRow row;
      row.op = static_cast<OpId>(op);
      row.step = step;
      row.set_desc(view.desc);
      if (!writer->add_record(row, &view, nullptr).ok()) state.SkipWithError("a record cannot be written");
    }
    if (!writer->parts().steps->end_step(step, 0).ok()) state.SkipWithError("a step cannot be ended");
    state.PauseTiming();
    std::error_code ignored;
    std::filesystem::remove_all(join_path(folder.path(), concat("rank_0/Net/0/", step)), ignored);
    ++step;
    state.ResumeTiming();
  }
  count_files(state);
}

BENCHMARK(floor)->Arg(1 << 10)->Arg(80 << 10)->Arg(1 << 20)->UseRealTime();
BENCHMARK(tree)->Arg(1 << 10)->Arg(80 << 10)->Arg(1 << 20)->UseRealTime();

}  // namespace
}  // namespace tensortap

BENCHMARK_MAIN();
