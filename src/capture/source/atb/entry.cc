#include "source/atb/entry.h"

#include <unistd.h>

#include <string>

#include "base/environment.h"
#include "base/files.h"
#include "base/message.h"
#include "base/silenced.h"
#include "base/text.h"
#include "source/atb/dump.h"

namespace tensortap::atb {
namespace {

// Asks the dump of the process, if there is one.
template <class Ask>
bool asked(Ask&& ask) noexcept {
  return silenced(false, [&] {
    const Dump::InUse dump;
    return dump.get() != nullptr && ask(*dump.get());
  });
}

// Tells it something.
template <class Tell>
void told(Tell&& tell) noexcept {
  silenced(0, [&] {
    if (const Dump::InUse dump; dump.get() != nullptr) tell(*dump.get());
    return 0;
  });
}

bool is_set(std::string_view name) noexcept {
  return silenced(false, [name] { return environment_value(name) == "1"; });
}

// Runtimes may give the folder or the file in it.
std::string with_file(std::string_view path, std::string_view file) {
  const std::string_view extension = file.substr(file.rfind('.'));
  return path.ends_with(extension) ? std::string(path) : concat(path, "/", file);
}

}  // namespace

bool wishes(Wish wish) noexcept {
  return asked([&](const Dump& dump) { return dump.wishes(wish); });
}

bool selects_operation(std::span<const int64_t> ids, std::string_view type) noexcept {
  return asked([&](Dump& dump) { return dump.selects_operation(ids, type); });
}

bool selects_folder(std::string_view folder) noexcept {
  return asked([&](Dump& dump) { return dump.selects_folder(folder); });
}

bool selects_execution(uint64_t count) noexcept {
  return asked([&](Dump& dump) { return dump.selects_execution(count); });
}

void look_at_config() noexcept {
  told([](Dump& dump) { dump.look_at_config(); });
}

void save_tensor(const ToldTensor& tensor, const void* data, uint64_t bytes) noexcept {
  told([&](Dump& dump) { dump.save_tensor(tensor, data, bytes); });
}

void save_tiling(const void* data, uint64_t bytes, std::string_view path) noexcept {
  told([&](Dump& dump) {
    if (data == nullptr || !dump.wishes(Wish::kTiling)) return;
    dump.save_document(concat("tiling/", with_file(path, "kernel_tilingdata.bin")), {static_cast<const char*>(data), bytes});
  });
}

void save_parameters(std::string_view parameters, std::string_view path) noexcept {
  told([&](Dump& dump) {
    if (!dump.wishes(Wish::kTensors) || !dump.selects_parameters(path.substr(0, path.rfind("/op_param.json")))) return;
    dump.save_document(concat("tensors/", with_file(path, "op_param.json")), concat(parameters, "\n"));
  });
}

void report_graph(std::string_view operation, std::string_view graph) noexcept {
  told([&](Dump& dump) {
    if (dump.wishes(Wish::kTopology)) dump.report_graph(operation, graph);
  });
}

bool wants_model(std::string_view model) noexcept {
  return asked([&](Dump& dump) { return dump.wants_model(model); });
}

void report_model(std::string_view model, std::string_view graph) noexcept {
  told([&](Dump& dump) { dump.report_model(model, graph); });
}

void report_execution(Table table, uint64_t count, std::string_view name, std::string_view parameters, std::span<const ToldTensor> inputs,
                      std::span<const ToldTensor> outputs) noexcept {
  told([&](Dump& dump) { dump.report_execution(table, count, name, parameters, inputs, outputs); });
}

void report_times(uint64_t count, std::string_view operation, std::string_view times) noexcept {
  told([&](Dump& dump) { dump.report_times(count, operation, times); });
}

bool checks_overflow() noexcept { return is_set("ATB_CHECK_TYPE"); }
bool stops_at_overflow() noexcept { return is_set("ATB_EXIT"); }

void report_overflow(std::string_view text) noexcept {
  silenced(0, [text] {
    const std::string folder = environment_value("ATB_OUTPUT_DIR").value_or(".");
    const std::string path = join_path(folder, concat("msit_overflow_res_", getpid(), ".txt"));
    const Status status = write_file_atomically(path, text);
    if (!status.ok()) say(concat("the overflow is not noted: ", status.message()));
    return 0;
  });
}

}  // namespace tensortap::atb
