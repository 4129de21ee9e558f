// The bridge to Python as a separate library, for tests/torch_bridge_test.py: the calls that the tracker makes, as C functions for Python.

#include <chrono>
#include <cstring>
#include <mutex>
#include <string>

#include "source/pytorch/entry/python_functions.h"
#include "source/pytorch/python/frame_walker.h"
#include "source/pytorch/python/python_bridge.h"

namespace {

std::mutex log_lock;
std::string log_text;  // one event a line

void add_event(const std::string& line) {
  const std::lock_guard lock(log_lock);
  log_text += line + "\n";
}

size_t give(const std::string& text, char* buffer, size_t capacity) {
  std::strncpy(buffer, text.c_str(), capacity - 1);
  return text.size();
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* bridge_functions() { return tensortap::pytorch::python_functions(); }

// What tensortap.capture asks a library for.
__attribute__((visibility("default"))) void* tensortap_pytorch_python_functions() { return tensortap::pytorch::python_functions(); }

__attribute__((visibility("default"))) int bridge_bootstrap(const char* package) {
  return tensortap::pytorch::bootstrap_python(package) ? 1 : 0;
}

__attribute__((visibility("default"))) size_t bridge_where(int may_take_gil, char* buffer, size_t capacity) {
  return give(tensortap::pytorch::source_text(tensortap::pytorch::source_position(may_take_gil != 0)), buffer, capacity);
}

__attribute__((visibility("default"))) size_t bridge_module(char* buffer, size_t capacity) {
  return give(tensortap::pytorch::module_path(tensortap::pytorch::current_module()), buffer, capacity);
}

__attribute__((visibility("default"))) size_t bridge_graph_module(char* buffer, size_t capacity) {
  return give(tensortap::pytorch::module_path(tensortap::pytorch::module_of(tensortap::pytorch::source_position(true))), buffer, capacity);
}

__attribute__((visibility("default"))) int bridge_walks_without_gil() { return tensortap::pytorch::frame_walk_works() ? 1 : 0; }

// Nanoseconds of one look at module and position, for people.
__attribute__((visibility("default"))) double bridge_cost(int times) {
  const auto begin = std::chrono::steady_clock::now();
  uint64_t sum = 0;
  for (int i = 0; i < times; ++i)
    sum += tensortap::pytorch::current_module() + static_cast<uint64_t>(tensortap::pytorch::source_position(false).offset);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return sum == 1 ? 0 : took.count() / times;
}

__attribute__((visibility("default"))) void bridge_record_events() {
  tensortap::pytorch::PythonEvents events;
  events.root_module_begins = [](tensortap::pytorch::ModuleId module, const tensortap::pytorch::RootCall& call) {
    add_event("begin " + tensortap::pytorch::module_path(module) + (call.holds_tensors ? " with tensors" : ""));
  };
  events.root_module_ends = [](tensortap::pytorch::ModuleId module) { add_event("end " + tensortap::pytorch::module_path(module)); };
  events.step = [] { add_event("step"); };
  events.set_dump = [](tensortap::pytorch::ModuleId module, const char* op, bool enabled) {
    add_event("set_dump " + tensortap::pytorch::module_path(module) + " " + op + (enabled ? " on" : " off"));
  };
  events.open = [](const char* config, const char* name, const char* out) {
    add_event(std::string("open ") + name + " " + out + " " + config);
    return std::strcmp(out, "refuse") == 0 ? "no room there" : "";
  };
  events.close = []() -> const char* {
    add_event("close");
    return R"({"dump": "somewhere", "records": 3})";
  };
  tensortap::pytorch::set_python_events(events);
}

__attribute__((visibility("default"))) size_t bridge_events(char* buffer, size_t capacity) {
  const std::lock_guard lock(log_lock);
  const size_t size = give(log_text, buffer, capacity);
  log_text.clear();
  return size;
}

}  // extern "C"
