#include "source/ggml/layout_probe.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tensortap::ggml {
namespace {

constexpr size_t kContextBytes = size_t{4} << 20;  // ggml ends a program whose context is too small
constexpr size_t kObjectBytes = 32;                // struct ggml_object, which is in front of each tensor
constexpr size_t kMostTensorBytes = 2048;
constexpr size_t kGraphBytes = 64;  // what stands at the beginning of a graph
constexpr size_t kPoolBytes = 4096;
constexpr size_t kAlignment = 64;
// Numbers of types that no release changed; their names are checked.
constexpr int kFloat32 = 0;
constexpr int kFloat16 = 1;
constexpr int kQ8 = 8;
constexpr int kMostOps = 16;  // among the first ones are ADD and MUL

using Four = std::array<int64_t, kMostDimensions>;

struct Aligned {
  alignas(kAlignment) std::array<char, kPoolBytes> bytes{};
};

// A context of ggml in memory of ours. Zeroed, so that what ggml does not write is no accident.
class ProbeContext {
 public:
  explicit ProbeContext(const GgmlFunctions& functions, bool no_alloc = false)
      : functions_(functions),
        memory_(kContextBytes / sizeof(std::max_align_t)),
        context_(functions.init({kContextBytes, memory_.data(), no_alloc})) {}
  ~ProbeContext() {
    if (context_ != nullptr) functions_.free(context_);
  }
  ProbeContext(const ProbeContext&) = delete;
  ProbeContext& operator=(const ProbeContext&) = delete;

  [[nodiscard]] bool ok() const { return context_ != nullptr; }
  [[nodiscard]] void* get() const { return context_; }
  void* tensor(int type, const Four& ne) { return functions_.new_tensor_4d(context_, type, ne[0], ne[1], ne[2], ne[3]); }

 private:
  const GgmlFunctions& functions_;
  std::vector<std::max_align_t> memory_;
  void* context_;
};

template <class T>
struct Known {
  const void* tensor;
  T value;
};

// Where a field stands: the only place that has the known value in every tensor.
class FieldSearch {
 public:
  explicit FieldSearch(size_t bytes) : bytes_(bytes) {}

  template <class T>
  int find(std::string_view field, const std::vector<Known<T>>& known) {
    std::optional<int> found;
    for (size_t at = 0; at + sizeof(T) <= bytes_; at += std::min(sizeof(T), sizeof(void*))) {
      const auto has_it = [at](const Known<T>& one) {
        return std::memcmp(static_cast<const char*>(one.tensor) + at, &one.value, sizeof(T)) == 0;
      };
      if (!std::ranges::all_of(known, has_it)) continue;
      if (found) fail(concat(field, " may stand at byte ", *found, " and at byte ", at));
      found = static_cast<int>(at);
    }
    if (!found) fail(concat(field, " was not found"));
    return found.value_or(-1);
  }

  void fail(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  const size_t bytes_;
  std::string problem_;
};

bool is_called(const char* name, std::string_view expected) { return name != nullptr && name == expected; }

int number_of_op(const GgmlFunctions& functions, std::string_view name) {
  for (int op = 0; op < kMostOps; ++op) {
    if (is_called(functions.op_name(op), name)) return op;
  }
  return -1;
}

// The tensors that the fields are read from.
struct Samples {
  Samples(const GgmlFunctions& functions, ProbeContext& context)
      : a(context.tensor(kFloat32, {3, 5, 7, 11})),
        b(context.tensor(kFloat32, {3, 5, 7, 11})),
        half(context.tensor(kFloat16, {2, 13, 4, 6})),
        blocks(context.tensor(kQ8, {64, 2, 1, 1})),
        sum(functions.add(context.get(), a, b)),
        product(functions.mul(context.get(), b, a)),
        view(functions.view_1d(context.get(), a, 2, 12)),
        other_view(functions.view_1d(context.get(), b, 1, 24)) {
    functions.set_name(a, "first of the probe");
    functions.set_name(b, "second");
  }
  [[nodiscard]] bool ok() const {
    return a != nullptr && b != nullptr && half != nullptr && blocks != nullptr && sum != nullptr && product != nullptr &&
           view != nullptr && other_view != nullptr;
  }

  void* a;
  void* b;
  void* half;
  void* blocks;
  void* sum;
  void* product;
  void* view;
  void* other_view;
};

void find_numbers(const GgmlFunctions& functions, const Samples& on, FieldSearch& search, TensorLayout& layout) {
  const int add = number_of_op(functions, "ADD");
  const int mul = number_of_op(functions, "MUL");
  const bool as_expected = is_called(functions.op_name(0), "NONE") && add > 0 && mul > 0;
  if (!as_expected) search.fail("the numbers of ADD and MUL were not found");
  if (!is_called(functions.type_name(kFloat32), "f32") || !is_called(functions.type_name(kFloat16), "f16") ||
      !is_called(functions.type_name(kQ8), "q8_0")) {
    search.fail("the numbers of its types are not known");
  }
  layout.type =
      search.find<int32_t>("the type", {{on.a, kFloat32}, {on.half, kFloat16}, {on.blocks, kQ8}, {on.sum, kFloat32}, {on.view, kFloat32}});
  layout.op = search.find<int32_t>("the op", {{on.a, 0}, {on.sum, add}, {on.product, mul}, {on.half, 0}, {on.blocks, 0}});
  layout.ne = search.find<Four>("the shape", {{on.a, {3, 5, 7, 11}}, {on.half, {2, 13, 4, 6}}, {on.view, {2, 1, 1, 1}}});
  layout.nb = search.find<Four>("the strides", {{on.a, {4, 12, 60, 420}}, {on.half, {2, 4, 52, 208}}, {on.sum, {4, 12, 60, 420}}});
}

void find_sources(const Samples& on, FieldSearch& search, TensorLayout& layout) {
  using Two = std::array<const void*, 2>;
  layout.sources = search.find<Two>("what an op reads", {{on.sum, {on.a, on.b}}, {on.product, {on.b, on.a}}, {on.a, {nullptr, nullptr}}});
  // A view has its tensor among the sources, too; the byte in it stands behind the pointer.
  struct Part {
    const void* of;
    size_t place;
  };
  const int view = search.find<Part>("the tensor of a view", {{on.view, {on.a, 12}}, {on.other_view, {on.b, 24}}, {on.a, {nullptr, 0}}});
  layout.view_of = view;
  layout.view_place = view + static_cast<int>(sizeof(void*));
  if (!search.problem().empty()) return;
  const int room = view - layout.sources;
  layout.source_count = static_cast<size_t>(room) / sizeof(void*);
  if (room < 2 * static_cast<int>(sizeof(void*)) || layout.source_count > kMostSources) {
    search.fail("how many tensors an op reads was not found");
    return;
  }
  for (size_t i = 2; i < layout.source_count; ++i) {
    for (const void* tensor : {on.sum, on.product, on.a}) {
      if (GgmlTensor(layout, tensor).source(i)) search.fail("something else stands among what an op reads");
    }
  }
}

void find_texts(const GgmlFunctions& functions, const Samples& on, FieldSearch& search, TensorLayout& layout) {
  layout.data = search.find<const void*>("the data", {{on.a, functions.get_data(on.a)},
                                                      {on.b, functions.get_data(on.b)},
                                                      {on.sum, functions.get_data(on.sum)},
                                                      {on.view, functions.get_data(on.view)}});
  using Begin = std::array<char, sizeof(void*)>;
  layout.name =
      search.find<Begin>("the name", {{on.a, {'f', 'i', 'r', 's', 't', ' ', 'o', 'f'}}, {on.b, {'s', 'e', 'c', 'o', 'n', 'd', 0, 0}}});
  if (functions.get_name(on.a) != static_cast<const char*>(on.a) + layout.name) search.fail("the name is not where ggml_get_name() has it");
}

// The buffer, of tensors that are put into buffers of ggml's own.
void find_buffer(const GgmlFunctions& functions, FieldSearch& search, TensorLayout& layout) {
  ProbeContext context(functions, true);
  if (!context.ok()) return search.fail("no context could be made");
  const auto pools = std::make_unique<std::array<Aligned, 2>>();
  std::vector<Known<const void*>> known;
  std::array<void*, 2> buffers{};
  for (size_t i = 0; i < buffers.size(); ++i) {
    char* memory = (*pools)[i].bytes.data();
    buffers[i] = functions.buffer_from_ptr(memory, kPoolBytes);
    void* tensor = context.tensor(kFloat32, {4, 1, 1, 1});
    if (buffers[i] == nullptr || tensor == nullptr) break;
    functions.tensor_alloc(buffers[i], tensor, memory);
    known.push_back({tensor, buffers[i]});
  }
  if (known.size() == buffers.size()) {
    layout.buffer = search.find<const void*>("the buffer", known);
  } else {
    search.fail("no buffer could be made");
  }
  for (void* buffer : buffers) {
    if (buffer != nullptr) functions.buffer_free(buffer);
  }
}

// The words of a tensor.
std::vector<int32_t> words_of(const void* tensor, size_t bytes) {
  std::vector<int32_t> words(bytes / sizeof(int32_t));
  std::memcpy(words.data(), tensor, words.size() * sizeof(int32_t));
  return words;
}

// The flags, by functions that set one each, and the one that a graph sets on what it computes, in releases that have it.
void find_flags(const GgmlFunctions& functions, const Samples& on, void* context, FieldSearch& search, TensorLayout& layout) {
  const size_t bytes = search.bytes();
  std::optional<size_t> place;
  for (const auto& [set, tensor] : {std::pair(functions.set_output, on.b), std::pair(functions.set_input, on.half)}) {
    const std::vector<int32_t> before = words_of(tensor, bytes);
    set(tensor);
    const std::vector<int32_t> after = words_of(tensor, bytes);
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i] == after[i]) continue;
      if (place.value_or(i) != i) return search.fail("the flags may be at two places");
      place = i;
    }
  }
  if (!place) return search.fail("the flags were not found");
  layout.flags = static_cast<int>(*place * sizeof(int32_t));
  std::vector<int32_t> set_bits;
  for (void* tensor : {on.sum, on.product}) {
    const int32_t before = words_of(tensor, bytes)[*place];
    void* graph = functions.new_graph(context);
    if (graph == nullptr) return search.fail("no graph could be made");
    functions.build_forward_expand(graph, tensor);
    set_bits.push_back(words_of(tensor, bytes)[*place] & ~before);
  }
  if (set_bits[0] != set_bits[1] || (set_bits[0] & (set_bits[0] - 1)) != 0) search.fail("the flag of computed nodes was not found");
  layout.computed = set_bits[0];
}

Status as_status(const FieldSearch& search) {
  return search.problem().empty() ? Status() : Status(StatusCode::kUnsupported, search.problem());
}

}  // namespace

Result<TensorLayout> probe_tensors(const GgmlFunctions& functions) {
  const size_t overhead = functions.tensor_overhead();
  if (overhead <= kObjectBytes || overhead > kMostTensorBytes)
    return Status(StatusCode::kUnsupported, concat("tensors of ", overhead, " bytes"));
  ProbeContext context(functions);
  if (!context.ok()) return Status(StatusCode::kUnsupported, "no context could be made");
  const Samples samples(functions, context);
  if (!samples.ok()) return Status(StatusCode::kUnsupported, "no tensors could be made");
  FieldSearch search(overhead - kObjectBytes);
  TensorLayout layout;
  find_numbers(functions, samples, search, layout);
  find_sources(samples, search, layout);
  find_texts(functions, samples, search, layout);
  find_buffer(functions, search, layout);
  find_flags(functions, samples, context.get(), search, layout);
  TENSORTAP_RETURN_IF_ERROR(as_status(search));
  return layout;
}

Result<GraphLayout> probe_graphs(const GgmlFunctions& functions) {
  ProbeContext context(functions);
  if (!context.ok()) return Status(StatusCode::kUnsupported, "no context could be made");
  const Samples samples(functions, context);
  void* one = functions.new_graph(context.get());
  void* other = functions.new_graph(context.get());
  void* last = functions.mul(context.get(), samples.sum, samples.product);
  if (!samples.ok() || one == nullptr || other == nullptr || last == nullptr)
    return Status(StatusCode::kUnsupported, "no graph could be made");
  functions.build_forward_expand(one, last);
  functions.build_forward_expand(other, samples.product);
  // The number of nodes and that of leaves must differ, and so must those of the two graphs: 3 and 2, 1 and 2.
  FieldSearch search(kGraphBytes);
  GraphLayout layout;
  layout.node_count = search.find<int32_t>("the number of nodes", {{one, 3}, {other, 1}});
  // The nodes are a list in memory of the context: the pointer of the graph that leads to its first nodes.
  std::optional<int> found;
  for (size_t at = 0; at + sizeof(void*) <= kGraphBytes; at += sizeof(void*)) {
    const auto leads_to = [&](void* graph, std::initializer_list<const void*> nodes) {
      const void* const* list = nullptr;
      std::memcpy(static_cast<void*>(&list), static_cast<const char*>(graph) + at, sizeof(list));
      const auto place = reinterpret_cast<uintptr_t>(list);
      const auto begin = reinterpret_cast<uintptr_t>(graph);
      if (place % sizeof(void*) != 0 || place < begin || place > begin + kContextBytes / 4) return false;
      return std::equal(nodes.begin(), nodes.end(), list);
    };
    if (!leads_to(one, {samples.sum, samples.product, last}) || !leads_to(other, {samples.product})) continue;
    if (found) search.fail("the list of nodes may stand at two places");
    found = static_cast<int>(at);
  }
  if (!found) search.fail("the list of nodes was not found");
  TENSORTAP_RETURN_IF_ERROR(as_status(search));
  layout.nodes = *found;
  return layout;
}

bool probe_views(const GgmlFunctions& functions, const std::function<std::vector<GgmlTensor>(void* graph)>& list) {
  if (functions.graph_view == nullptr || functions.synchronize == nullptr) return false;
  ProbeContext context(functions);
  if (!context.ok()) return false;
  const Samples samples(functions, context);
  void* graph = functions.new_graph(context.get());
  void* last = functions.mul(context.get(), samples.sum, samples.product);
  if (!samples.ok() || graph == nullptr || last == nullptr) return false;
  functions.build_forward_expand(graph, last);
  const std::vector<GgmlTensor> all = list(graph);
  for (size_t begin = 0; begin < all.size(); ++begin) {
    for (size_t end = begin + 1; end <= all.size(); ++end) {
      GraphBytes view = functions.graph_view(graph, static_cast<int>(begin), static_cast<int>(end));
      const std::vector<GgmlTensor> some = list(&view);
      if (!std::equal(some.begin(), some.end(), all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end)))
        return false;
    }
  }
  return all.size() == 3 && list(graph) == all;
}

}  // namespace tensortap::ggml
