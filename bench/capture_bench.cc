// What one event costs the program's thread: switched off, not wanted, with statistics, with a copy.

#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <tensortap/tensortap.h>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

enum class Kind { kDisabled, kNotWanted, kWants, kStatistics, kTensor };

class Capture {
 public:
  Capture(Kind kind, size_t elements) : values_(elements, 1.5F), dims_{static_cast<int64_t>(elements)} {
    std::string pattern = (std::filesystem::exists("/dev/shm") ? std::string("/dev/shm") : std::string("/tmp")) + "/tensortap-bench-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    const std::string payload = kind == Kind::kTensor ? "tensor" : "statistics";
    const std::string include = kind == Kind::kNotWanted ? R"("include": [{"name": "another"}], )" : "";
    const std::string problem = session_.open(
        R"({"payload": ")" + payload + R"(", )" + include + R"("limits": {"keep_free": 0}, "out": ")" + folder_ + "/d\"}", "bench");
    if (!problem.empty()) throw std::runtime_error(problem);
    op_ = session_.add_op({.name = "op", .type = "Op"});
    if (kind == Kind::kDisabled) tensortap_session_enable(session_.get(), 0);
    tensor_ = tensortap::output(TENSORTAP_FLOAT32, values_.data(), dims_);
  }
  ~Capture() {
    tensortap_session_enable(session_.get(), 1);
    session_.close();
    std::filesystem::remove_all(folder_);
  }
  void event(int64_t step) { session_.on_op(op_, step, std::span(&tensor_, 1)); }
  [[nodiscard]] bool wants(int64_t step) const { return session_.wants(op_, step); }

 private:
  std::vector<float> values_;
  std::array<int64_t, 1> dims_;
  std::string folder_;
  tensortap::Session session_;
  tensortap::Op op_ = 0;
  tensortap_tensor tensor_{};
};

void events(benchmark::State& state, Kind kind, size_t elements) {
  Capture capture(kind, elements);
  int64_t calls = 0;
  for (auto _ : state) capture.event(calls++ / 1000);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(elements * sizeof(float)));
}

void wants(benchmark::State& state) {
  const Capture capture(Kind::kStatistics, 16);
  for (auto _ : state) benchmark::DoNotOptimize(capture.wants(0));
}

// Two tensors that name the memory they are in; `changes`: a new content each time, otherwise always the same.
void memory(benchmark::State& state, size_t elements, bool changes) {
  std::string pattern = "/dev/shm/tensortap-bench-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  tensortap::Session session;
  const std::string problem = session.open(R"({"slots": ["in", "out"], "limits": {"keep_free": 0}, "out": ")" + folder + "/d\"}", "bench");
  if (!problem.empty()) throw std::runtime_error(problem);
  const tensortap::Op op = session.add_op({.name = "op", .type = "Op"});
  const std::vector<float> values(elements, 1.5F);
  const std::array<int64_t, 1> dims = {static_cast<int64_t>(elements)};
  std::array<tensortap_tensor, 2> tensors{};
  tensors.fill(tensortap::output(TENSORTAP_FLOAT32, values.data(), dims));
  uint32_t slot = 0;
  for (tensortap_tensor& tensor : tensors) {
    tensor.slot_index = slot++;
    tensor.storage = slot;
    tensor.version = 1;
  }
  uint32_t calls = 0;
  for (auto _ : state) {
    for (tensortap_tensor& tensor : tensors) tensor.version += changes ? 1 : 0;
    tensortap_op_event event{};
    event.size = sizeof(event);
    event.op = op;
    event.step = calls / 1000;
    event.call = ++calls;
    event.duration_ns = -1;
    event.tensors = tensors.data();
    event.tensor_count = tensors.size();
    tensortap_on_op(session.get(), &event);
  }
  session.close();
  std::filesystem::remove_all(folder);
}

BENCHMARK_CAPTURE(memory, two_small_tensors, 16, true)->Iterations(50000);
BENCHMARK_CAPTURE(memory, two_of_1k, 1024, true)->Iterations(50000);
BENCHMARK_CAPTURE(memory, two_of_8k_new, 8192, true)->Iterations(50000);
BENCHMARK_CAPTURE(memory, two_of_8k_known, 8192, false)->Iterations(50000);
BENCHMARK_CAPTURE(memory, two_of_64k_new, 65536, true)->Iterations(50000);
BENCHMARK_CAPTURE(memory, two_of_64k_known, 65536, false)->Iterations(50000);
BENCHMARK_CAPTURE(events, disabled, Kind::kDisabled, 16);
BENCHMARK_CAPTURE(events, not_wanted, Kind::kNotWanted, 16);
BENCHMARK(wants);
// Records stay on the disk: the number of events is fixed.
BENCHMARK_CAPTURE(events, statistics_of_16_floats, Kind::kStatistics, 16)->Iterations(200000);
BENCHMARK_CAPTURE(events, statistics_of_64_KiB, Kind::kStatistics, 16384)->Iterations(20000);
BENCHMARK_CAPTURE(events, tensor_of_64_KiB, Kind::kTensor, 16384)->Iterations(5000);

}  // namespace

BENCHMARK_MAIN();
