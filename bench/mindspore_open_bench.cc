// A MindSpore tree of many small files, opened while the system still has them in memory.

#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <array>
#include <string>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "format/npy/npy_header.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr int64_t kSteps = 10;
constexpr int64_t kSlots = 3;  // files of one op

void make_tree(const std::string& folder, int64_t files) {
  const std::array<int64_t, 2> shape = {2, 3};
  const std::string content = make_npy_header("'<f4'", shape) + std::string(24, '\1');
  constexpr std::array kNames = {"input.0", "input.1", "output.0"};
  int64_t time = 1795209585054367;
  for (int64_t step = 0; step < kSteps; ++step) {
    const std::string iteration = join_path(folder, concat("rank_0/Net/0/", step));
    if (!make_directories(iteration).ok()) return;
    for (int64_t i = 0; i < files / kSteps; ++i) {
      const int64_t op = i / kSlots;
      const std::string name = concat("MatMul.Default_network-WithLossCell__backbone-Net_layer", op / 10, "-Dense_MatMul-op", op, ".0.0.",
                                      time += 37, ".", kNames[static_cast<size_t>(i % kSlots)], ".DefaultFormat.Float32.npy");
      auto file = File::open(join_path(iteration, name), O_WRONLY | O_CREAT);
      if (!file.ok() || !file->write(content).ok()) return;
    }
  }
}

void open_a_tree(benchmark::State& state) {
  const TemporaryFolder folder;
  make_tree(folder.path(), state.range(0));
  for (auto _ : state) {
    const auto dump = find_layout("mindspore")->open(folder.path());
    if (!dump.ok() || (*dump)->rows().size() != static_cast<size_t>(state.range(0))) state.SkipWithError("some records are missing");
  }
}
BENCHMARK(open_a_tree)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tensortap

BENCHMARK_MAIN();
