#include "source/ggml/ggml_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/message.h"
#include "base/safe_memory.h"
#include "base/text.h"

namespace tensortap::ggml {

struct LoadedObject {
  void* handle = nullptr;
  std::string path;
};

namespace {

constexpr int kMostNodes = 1 << 20;
constexpr size_t kSchedulerBytes = 4096;  // in which the callback must stand
constexpr size_t kWords = kSchedulerBytes / sizeof(uintptr_t);

// Guards the known copies. A child of fork() recreates it, since another thread may have held it.
constinit std::mutex known_mutex;

// The object that holds an address. It stays loaded from then on: its functions are called later.
LoadedObject object_of(const void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  const bool is_program = map->l_name == nullptr || *map->l_name == '\0';
  void* handle = is_program ? dlopen(nullptr, RTLD_LAZY) : dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  return {handle, is_program ? "the program" : map->l_name};
}

// The words from the address on, up to the end of what can be read.
std::vector<uintptr_t> read_words(const void* from) {
  const auto place = reinterpret_cast<uintptr_t>(from);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::vector<uintptr_t> words(kWords);
  if (read_safely(from, kSchedulerBytes, words.data())) return words;
  words.resize((page - place % page) / sizeof(uintptr_t));
  if (words.size() > kWords || !read_safely(from, words.size() * sizeof(uintptr_t), words.data())) words.clear();
  return words;
}

bool nobody(void* /*tensor*/, bool /*ask*/, void* /*user*/) { return false; }
bool nobody_else(void* /*tensor*/, bool ask, void* /*user*/) { return !ask; }

// The one word that has changed from anything to `value`; nothing when there are several or none.
std::optional<size_t> changed_to(const std::vector<uintptr_t>& before, const std::vector<uintptr_t>& after, uintptr_t value) {
  std::optional<size_t> found;
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (after[i] != value || before[i] == value) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace

// ggml may be in several objects, of which each has some of the functions that compute. The copy is known by the one with ggml_init().
struct GgmlLibrary::LoadedCopy {
  LoadedObject object;
  GgmlFunctions functions;
  std::string missing;  // the name of a function

  LoadedCopy(const void* real, const void* caller) : object(object_of(real)) {
    if (object.handle == nullptr) return;
    missing = find_functions(object.handle, object_of(caller).handle, functions);
    if (functions.init != nullptr) object = object_of(reinterpret_cast<const void*>(functions.init));
  }
};

GgmlLibrary::GgmlLibrary(const LoadedCopy& copy, TensorLayout layout, GraphLayout graphs)
    : path_(copy.object.path),
      handle_(copy.object.handle),
      functions_(copy.functions),
      layout_(layout),
      graphs_(graphs),
      cuts_graphs_(probe_views(functions_, [this](void* graph) {
        std::vector<GgmlTensor> nodes;
        list_nodes(graph, nodes);
        return nodes;
      })) {}

void GgmlLibrary::begin_anew_after_fork() { new (&known_mutex) std::mutex; }

GgmlLibrary* GgmlLibrary::of(const void* real, const void* caller) {
  static auto& by_function = *new std::map<const void*, GgmlLibrary*>;  // dladdr() takes long in large libraries
  static auto& by_object = *new std::map<const void*, GgmlLibrary*>;
  const std::lock_guard lock(known_mutex);
  if (const auto found = by_function.find(real); found != by_function.end()) return found->second;
  GgmlLibrary*& of_function = by_function[real];
  const LoadedCopy copy(real, caller);
  if (const auto found = by_object.find(copy.object.handle); found != by_object.end()) return of_function = found->second;
  GgmlLibrary*& library = by_object[copy.object.handle];
  const Result<GgmlLibrary*> examined = examine(copy);
  if (examined.ok()) {
    library = *examined;
  } else {
    const std::string_view path = copy.object.path.empty() ? std::string_view("this process") : copy.object.path;
    say(concat("nothing is captured of the ggml in ", path, ": ", examined.status().message()));
  }
  return of_function = library;
}

Result<GgmlLibrary*> GgmlLibrary::examine(const LoadedCopy& copy) {
  if (copy.object.handle == nullptr) return Status(StatusCode::kUnsupported, "it is not a loaded object");
  if (!copy.missing.empty()) return Status(StatusCode::kUnsupported, concat("it does not export ", copy.missing));
  const GgmlFunctions& functions = copy.functions;
  const auto tensors = probe_tensors(functions);
  if (!tensors.ok()) return tensors.status().with_context("how it stores tensors is not known");
  GraphLayout graphs;
  if (functions.graph_node == nullptr || functions.graph_n_nodes == nullptr) {
    const auto probed = probe_graphs(functions);
    if (!probed.ok()) return probed.status().with_context("how it stores graphs is not known");
    graphs = *probed;
  }
  return new GgmlLibrary(copy, *tensors, graphs);
}

std::string GgmlLibrary::version() const {
  const char* version = functions_.version == nullptr ? nullptr : functions_.version();
  return version == nullptr ? "" : version;
}

DequantizeRow GgmlLibrary::dequantizer(const std::string& type) const {
  return reinterpret_cast<DequantizeRow>(dlsym(handle_, concat("dequantize_row_", type).c_str()));
}

void GgmlLibrary::list_nodes(void* graph, std::vector<GgmlTensor>& nodes) const {
  if (graphs_.nodes < 0) {
    const int count = std::clamp(functions_.graph_n_nodes(graph), 0, kMostNodes);
    for (int i = 0; i < count; ++i) nodes.push_back(tensor(functions_.graph_node(graph, i)));
    return;
  }
  const char* at = static_cast<const char*>(graph);
  int32_t count = 0;
  const void* const* list = nullptr;
  std::memcpy(&count, at + graphs_.node_count, sizeof(count));
  std::memcpy(static_cast<void*>(&list), at + graphs_.nodes, sizeof(list));
  for (int i = 0; i < std::clamp(count, 0, kMostNodes); ++i) nodes.push_back(tensor(list[i]));
}

Status GgmlLibrary::find_callback(void* scheduler) {
  // Two pairs of values, so that no word that changes by chance is mistaken for one of these.
  const std::array<std::pair<EvalCallback, void*>, 2> marks = {
      {{&nobody, &function_place_}, {&nobody_else, &user_place_}},
  };
  const std::vector<uintptr_t> original = read_words(scheduler);
  std::vector<uintptr_t> before = original;
  std::array<std::optional<size_t>, 2> functions;
  std::array<std::optional<size_t>, 2> users;
  for (size_t i = 0; i < marks.size(); ++i) {
    functions_.set_eval_callback(scheduler, marks[i].first, marks[i].second);
    std::vector<uintptr_t> after = read_words(scheduler);
    functions[i] = changed_to(before, after, reinterpret_cast<uintptr_t>(marks[i].first));
    users[i] = changed_to(before, after, reinterpret_cast<uintptr_t>(marks[i].second));
    before = std::move(after);
  }
  const bool found = functions[0] && users[0] && functions[0] == functions[1] && users[0] == users[1];
  functions_.set_eval_callback(scheduler, nullptr, nullptr);
  // What it had, wherever it stood: no other word has changed to these values.
  const auto [function, user] = marks.back();
  for (size_t i = 0; i < std::min(original.size(), before.size()); ++i) {
    const bool marked = before[i] == reinterpret_cast<uintptr_t>(function) || before[i] == reinterpret_cast<uintptr_t>(user);
    if (marked && original[i] != before[i])
      std::memcpy(static_cast<char*>(scheduler) + i * sizeof(uintptr_t), &original[i], sizeof(uintptr_t));
  }
  if (!found) return {StatusCode::kUnsupported, "where a scheduler has its callback was not found"};
  function_place_ = *functions[0] * sizeof(uintptr_t);
  user_place_ = *users[0] * sizeof(uintptr_t);
  callback_known_ = true;
  return {};
}

Result<OwnCallback> GgmlLibrary::callback_of(void* scheduler) {
  const std::lock_guard lock(mutex_);
  if (!callback_known_) TENSORTAP_RETURN_IF_ERROR(find_callback(scheduler));
  OwnCallback own;
  std::memcpy(&own.function, static_cast<const char*>(scheduler) + function_place_, sizeof(own.function));
  std::memcpy(&own.user, static_cast<const char*>(scheduler) + user_place_, sizeof(own.user));
  return own;
}

}  // namespace tensortap::ggml
