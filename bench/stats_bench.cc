// Speed of the statistics kernels beside a loop that only reads and beside memcpy. Counter: bytes read a second.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "stats/sketch.h"
#include "stats/stats.h"
#include "stored_number.h"

namespace tensortap {
namespace {

// Numbers as activations have them: normal, a third of them cut to zero.
double activation(std::mt19937& random) {
  static std::normal_distribution<double> normal(0, 1);
  const double value = normal(random);
  return random() % 3 == 0 ? 0 : value;
}

std::vector<std::byte> make_data(DType dtype, uint64_t bytes, bool zeros = true) {
  const uint64_t size = dtype_info(dtype).bits / 8;
  std::vector<std::byte> data(bytes);
  std::mt19937 random(1);
  const uint64_t pattern = std::min<uint64_t>(bytes, 1 << 20);
  for (uint64_t i = 0; i < pattern; i += size) {
    const double number = activation(random);
    store_number(dtype, number == 0 && !zeros ? 0.5 : number, data.data() + i);
  }
  for (uint64_t i = pattern; i < bytes; i += pattern) std::memcpy(data.data() + i, data.data(), std::min(pattern, bytes - i));
  return data;
}

void set_speed(benchmark::State& state, uint64_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * static_cast<int64_t>(state.iterations()));
}

void run_stats(benchmark::State& state, DType dtype, uint32_t wanted) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const std::vector<std::byte> data = make_data(dtype, bytes);
  const TensorView view{{dtype, Shape{static_cast<int64_t>(bytes * 8 / dtype_info(dtype).bits)}}, data.data(), nullptr};
  StatsOptions options;
  options.wanted = wanted;
  for (auto _ : state) benchmark::DoNotOptimize(compute_stats(view, options));
  set_speed(state, bytes);
}

// As hard-swish leaves them: a third of the numbers is -0.
void run_minus_zeros(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  std::vector<std::byte> data = make_data(DType::kFloat32, bytes);
  for (uint64_t i = 0; i < bytes; i += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, data.data() + i, sizeof(value));
    if (value == 0) store_number(DType::kFloat32, -0.0, data.data() + i);
  }
  const TensorView view{{DType::kFloat32, Shape{static_cast<int64_t>(bytes / sizeof(float))}}, data.data(), nullptr};
  for (auto _ : state) benchmark::DoNotOptimize(compute_stats(view, {}));
  set_speed(state, bytes);
}

#if defined(__x86_64__)
__attribute__((target_clones("avx2", "avx512f", "default")))
#endif
uint64_t
read_only(const uint64_t* words, uint64_t count) {
  uint64_t lanes[32] = {};
  for (uint64_t i = 0; i + 32 <= count; i += 32) {
    for (int k = 0; k < 32; ++k) lanes[k] ^= words[i + static_cast<uint64_t>(k)];
  }
  uint64_t all = 0;
  for (const uint64_t lane : lanes) all ^= lane;
  return all;
}

void run_read_only(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const std::vector<uint64_t> data(bytes / 8, 7);
  for (auto _ : state) benchmark::DoNotOptimize(read_only(data.data(), data.size()));
  set_speed(state, bytes);
}

void run_memcpy(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const std::vector<char> source(bytes, 1);
  std::vector<char> target(bytes);
  for (auto _ : state) {
    std::memcpy(target.data(), source.data(), bytes);
    benchmark::ClobberMemory();
  }
  set_speed(state, bytes);
}

void run_tiny(benchmark::State& state) {
  const std::vector<float> data(static_cast<size_t>(state.range(0)), 1.5F);
  const TensorView view{{DType::kFloat32, Shape{state.range(0)}}, data.data(), nullptr};
  for (auto _ : state) benchmark::DoNotOptimize(compute_stats(view, {}));
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Statistics alone and with a sketch, in turn. Counter: how many times as much processor time the second takes; the time is that of both.
void run_sketch(benchmark::State& state, DType dtype, const Shape& shape, SketchOptions sketch, bool zeros) {
  const auto bytes = *packed_bytes(dtype, *shape.numel());
  const std::vector<std::byte> data = make_data(dtype, bytes, zeros);
  const TensorView view{{dtype, shape}, data.data(), nullptr};
  std::vector<double> plain;
  std::vector<double> both;
  for (auto _ : state) {
    const double begin = thread_seconds();
    benchmark::DoNotOptimize(compute_stats(view, {}));
    const double middle = thread_seconds();
    SketchBuilder builder(view.desc, sketch);
    StatsOptions options;
    options.sketch = &builder;
    benchmark::DoNotOptimize(compute_stats(view, options));
    benchmark::DoNotOptimize(builder.finish());
    const double end = thread_seconds();
    plain.push_back(middle - begin);
    both.push_back(end - middle);
  }
  const auto median = [](std::vector<double>& times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
  };
  state.counters["ratio"] = median(both) / median(plain);
}

void register_sketches() {
  struct Kind {
    const char* name;
    Shape shape;
    SketchOptions sketch;
    bool zeros = true;
  };
  const Kind kinds[] = {
      {"channels last, 64 Ki numbers", Shape{16, 4096}, {1, 0}},
      {"channels last, 16 Mi numbers", Shape{4096, 4096}, {1, 0}},
      {"channels first, 196 Ki numbers", Shape{1, 64, 56, 56}, {1, 0}},
      {"channels first, 16 Mi numbers", Shape{16, 64, 128, 128}, {1, 0}},
      {"blocks of 16, 16 Mi numbers", Shape{4096, 4096}, {std::nullopt, 16}},
      {"blocks of 32, 64 Ki numbers", Shape{16, 4096}, {std::nullopt, 32}},
      {"blocks of 32, 16 Mi numbers", Shape{4096, 4096}, {std::nullopt, 32}},
      {"blocks of 128, 16 Mi numbers", Shape{4096, 4096}, {std::nullopt, 128}},
      {"channels and blocks of 32, 16 Mi numbers", Shape{4096, 4096}, {1, 32}},
      {"channels last, 16 Mi numbers, no zeros", Shape{4096, 4096}, {1, 0}, false},
      {"blocks of 32, 16 Mi numbers, no zeros", Shape{4096, 4096}, {std::nullopt, 32}, false},
  };
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    for (const Kind& kind : kinds) {
      const std::string name = "sketch/" + std::string(dtype_name(dtype)) + "/" + kind.name;
      benchmark::RegisterBenchmark(name.c_str(), run_sketch, dtype, kind.shape, kind.sketch, kind.zeros);
    }
  }
}

void add_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t bytes :
       {int64_t{4} << 10, int64_t{16} << 10, int64_t{64} << 10, int64_t{1} << 20, int64_t{16} << 20, int64_t{512} << 20})
    benchmark->Arg(bytes);
}

int register_all() {
  add_sizes(benchmark::RegisterBenchmark("read_only", run_read_only));
  add_sizes(benchmark::RegisterBenchmark("memcpy", run_memcpy));
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kInt8, DType::kInt16, DType::kInt32, DType::kFloat64,
                            DType::kInt64, DType::kFloat8E4M3FN}) {
    const std::string name(dtype_name(dtype));
    add_sizes(benchmark::RegisterBenchmark((name + "/minimal").c_str(), run_stats, dtype, kStatMinimal));
    add_sizes(benchmark::RegisterBenchmark((name + "/full").c_str(), run_stats, dtype, kStatFull));
  }
  benchmark::RegisterBenchmark("float32 with -0/full", run_minus_zeros)->Arg(4 << 10)->Arg(16 << 10)->Arg(64 << 10)->Arg(1 << 20);
  register_sketches();
  benchmark::RegisterBenchmark("tiny", run_tiny)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);
  return 0;
}

}  // namespace
}  // namespace tensortap

int main(int argc, char** argv) {
  tensortap::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
