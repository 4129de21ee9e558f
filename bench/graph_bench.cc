// The graph of a dump: made once, then drawn whole. Models like transformers of 1,000 to 100,000 ops, with a scope for each layer and
// without any; and one with very many long edges.

#include <benchmark/benchmark.h>

#include <array>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/text.h"
#include "graph/graph_drawing.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

class MadeModel : public VectorDumpIndex {
 public:
  // Layers that read the one before and a mask, until there are `ops` ops.
  MadeModel(int64_t ops, bool scopes) {
    OpId last = add("input", {});
    const OpId mask = add("mask", {});
    for (int64_t layer = 0; std::ssize(all_ops) < ops; ++layer) {
      last = add_layer(scopes ? concat("/layer.", layer / 10, "/block.", layer % 10, "/") : concat("block", layer, "_"), last, mask);
    }
  }

 private:
  OpId add(std::string name, std::initializer_list<OpId> makers) {
    OpInfo op;
    op.name = std::move(name);
    op.type = "Op";
    for (const OpId maker : makers) op.inputs.push_back({"x", maker, 0});
    return add_op(std::move(op));
  }

  OpId add_layer(const std::string& scope, OpId input, OpId mask) {
    const OpId norm = add(scope + "norm", {input});
    std::array<OpId, 3> parts = {};
    for (const size_t part : {0U, 1U, 2U}) {
      const OpId project = add(concat(scope, "attention/project", part), {norm});
      parts[part] = add(concat(scope, "attention/split", part), {project});
    }
    const OpId turned = add(scope + "attention/transpose", {parts[1]});
    const OpId scores = add(scope + "attention/scores", {parts[0], turned});
    const OpId masked = add(scope + "attention/mask", {scores, mask});
    const OpId weights = add(scope + "attention/softmax", {masked});
    const OpId mixed = add(scope + "attention/mix", {weights, parts[2]});
    const OpId joined = add(scope + "attention/project", {add(scope + "attention/join", {mixed})});
    const OpId sum = add(scope + "add", {joined, input});
    const OpId up = add(scope + "mlp/up", {add(scope + "mlp/norm", {sum})});
    return add(scope + "add2", {add(scope + "mlp/down", {up}), sum});
  }
};

// A chain: each op also reads the first op, and one up to a thousand ops before it.
class LongEdges : public VectorDumpIndex {
 public:
  explicit LongEdges(int64_t ops) {
    uint32_t random = 1;
    for (OpId id = 0; id < ops; ++id) {
      OpInfo op;
      op.name = concat("op", id);
      op.type = "Op";
      random = random * 1664525U + 1013904223U;
      if (id > 0) op.inputs = {{"x", id - 1, 0}, {"first", 0, 0}, {"before", id - std::min(id, 1 + (random >> 16U) % 1000), 0}};
      add_op(std::move(op));
    }
  }
};

void draw_all(benchmark::State& state, const DumpIndex& dump) {
  const GraphModel model(dump);
  GraphRequest request;
  request.open = GraphRequest::Open::kAll;
  size_t nodes = 0;
  for (auto _ : state) {
    const GraphDrawing drawing = draw(model, request);
    nodes = drawing.nodes.size();
    benchmark::DoNotOptimize(drawing.points.data());
  }
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["edges"] = static_cast<double>(model.edges().size());
}

void draw_flat(benchmark::State& state) { draw_all(state, MadeModel(state.range(0), false)); }
void draw_scopes(benchmark::State& state) { draw_all(state, MadeModel(state.range(0), true)); }
void draw_long_edges(benchmark::State& state) { draw_all(state, LongEdges(state.range(0))); }

void draw_auto(benchmark::State& state) {
  const MadeModel dump(state.range(0), true);
  const GraphModel model(dump);
  for (auto _ : state) benchmark::DoNotOptimize(draw(model, GraphRequest()).nodes.size());
}

void make_model(benchmark::State& state) {
  const MadeModel dump(state.range(0), true);
  for (auto _ : state) benchmark::DoNotOptimize(GraphModel(dump).edges().size());
}

BENCHMARK(draw_flat)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(draw_scopes)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(draw_long_edges)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(draw_auto)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(make_model)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tensortap

BENCHMARK_MAIN();
