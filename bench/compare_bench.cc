// Speed of the comparison of two tensors, by instruction set, beside memcmp. Counter: bytes of both tensors a second.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "compare/compare_tensors.h"
#include "compare/difference.h"
#include "stats/stats.h"
#include "stats/stats_target.h"
#include "stored_number.h"

namespace tensortap {
namespace {

enum class Likeness { kEqual, kClose, kFarInfinities };

struct Pair {
  std::vector<std::byte> a;
  std::vector<std::byte> b;
};

// Activations, a third of them cut to zero, and others that differ in the last digits almost everywhere; of the last kind one element of
// 1,000 is infinite on both sides.
Pair make_pair(DType dtype, uint64_t bytes, Likeness likeness) {
  const uint64_t size = dtype_info(dtype).bits / 8;
  Pair pair{std::vector<std::byte>(bytes), std::vector<std::byte>(bytes)};
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, 1);
  const double close = dtype == DType::kFloat32 || dtype == DType::kFloat64 ? 1e-6 : 1e-2;
  const bool has_infinity = likeness == Likeness::kFarInfinities;
  for (uint64_t i = 0; i < bytes; i += size) {
    double value = random() % 3 == 0 ? 0 : normal(random);
    if (has_infinity && random() % 1000 == 0) value = -std::numeric_limits<double>::infinity();
    store_number(dtype, value, pair.a.data() + i);
    store_number(dtype, likeness == Likeness::kEqual ? value : value * (1 + close * normal(random)), pair.b.data() + i);
  }
  return pair;
}

void set_speed(benchmark::State& state, uint64_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(2 * bytes) * static_cast<int64_t>(state.iterations()));
}

void run_compare(benchmark::State& state, std::string_view target, DType dtype, Likeness likeness) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const Pair pair = make_pair(dtype, bytes, likeness);
  const TensorDesc desc{dtype, Shape{static_cast<int64_t>(bytes * 8 / dtype_info(dtype).bits)}};
  set_stats_target(target);
  for (auto _ : state) benchmark::DoNotOptimize(compare_tensors({desc, pair.a.data(), nullptr}, {desc, pair.b.data(), nullptr}, {}));
  set_stats_target(stats_targets().front());
  set_speed(state, bytes);
}

void run_memcmp(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const Pair pair = make_pair(DType::kFloat32, bytes, Likeness::kEqual);
  for (auto _ : state) benchmark::DoNotOptimize(std::memcmp(pair.a.data(), pair.b.data(), bytes));
  set_speed(state, bytes);
}

void add_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t bytes : {int64_t{4} << 10, int64_t{256} << 10, int64_t{32} << 20}) benchmark->Arg(bytes);
}

void register_all() {
  add_sizes(benchmark::RegisterBenchmark("memcmp", run_memcmp));
  for (const std::string_view target : stats_targets()) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kFloat64, DType::kInt8, DType::kInt32,
                              DType::kInt64, DType::kFloat8E4M3FN}) {
      const std::string name = std::string(target) + "/" + std::string(dtype_name(dtype));
      add_sizes(benchmark::RegisterBenchmark((name + "/equal").c_str(), run_compare, target, dtype, Likeness::kEqual));
      add_sizes(benchmark::RegisterBenchmark((name + "/close").c_str(), run_compare, target, dtype, Likeness::kClose));
    }
    const std::string name = std::string(target) + "/float32/infinities";
    add_sizes(benchmark::RegisterBenchmark(name.c_str(), run_compare, target, DType::kFloat32, Likeness::kFarInfinities));
  }
}

}  // namespace
}  // namespace tensortap

int main(int argc, char** argv) {
  tensortap::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
