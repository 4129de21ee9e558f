// The functions that probe.cc calls: the questions and reports of ATB, without its strings. They do not throw; an error ends in "nothing is
// dumped" and one message.
//
// Any thread may call at any time. The first call opens the session of the process; a child of fork() opens a separate one. The session is
// closed when the process exits. If a process ends by _exit() or a signal, the contents of its queue are lost; files are whole.

#ifndef TENSORTAP_SOURCE_ATB_ENTRY_H_
#define TENSORTAP_SOURCE_ATB_ENTRY_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace tensortap::atb {

// A tensor as ATB tells it: numbers as text for save_tensor(), words for tables; a path below the folder of the tensors.
struct ToldTensor {
  std::string_view type;
  std::string_view format;
  std::string_view dims;  // "2,8"
  std::string_view path;
};

// What a dump consists of.
enum class Wish : uint8_t {
  kAnything,
  kTensors,
  kData,  // their elements, to keep or to measure
  kBefore,
  kAfter,
  kInputs,
  kOutputs,
  kChildren,
  kTopology,
  kModels,
  kTimes,
  kTiling,
  kOperationTable,
  kKernelTable
};
// False when nothing is dumped in this process.
bool wishes(Wish wish) noexcept;

// Whether tensors of an operation are wanted: the numbers from its root operation down to it.
bool selects_operation(std::span<const int64_t> ids, std::string_view type) noexcept;
// The same by the folder of its tensors, which counts where a config is followed.
bool selects_folder(std::string_view folder) noexcept;
bool selects_execution(uint64_t count) noexcept;
// Reads a config that is followed, when it is time.
void look_at_config() noexcept;

void save_tensor(const ToldTensor& tensor, const void* data, uint64_t bytes) noexcept;
void save_tiling(const void* data, uint64_t bytes, std::string_view path) noexcept;
void save_parameters(std::string_view parameters, std::string_view path) noexcept;

// The graph of a root operation, as JSON.
void report_graph(std::string_view operation, std::string_view graph) noexcept;
bool wants_model(std::string_view model) noexcept;
void report_model(std::string_view model, std::string_view graph) noexcept;

enum class Table : uint8_t { kOperations, kKernels };
void report_execution(Table table, uint64_t count, std::string_view name, std::string_view parameters, std::span<const ToldTensor> inputs,
                      std::span<const ToldTensor> outputs) noexcept;
void report_times(uint64_t count, std::string_view operation, std::string_view times) noexcept;

// Of `msit llm errcheck`, which needs no dump.
bool checks_overflow() noexcept;
bool stops_at_overflow() noexcept;
void report_overflow(std::string_view text) noexcept;

}  // namespace tensortap::atb

#endif  // TENSORTAP_SOURCE_ATB_ENTRY_H_
