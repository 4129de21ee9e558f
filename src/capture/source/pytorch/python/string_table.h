// Texts by number, each once: the paths of modules, the names of parameters. Read without a lock.

#ifndef TENSORTAP_SOURCE_PYTORCH_PYTHON_STRING_TABLE_H_
#define TENSORTAP_SOURCE_PYTORCH_PYTHON_STRING_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace tensortap::pytorch {

// Meant for globals: needs no construction at run time and is never destroyed. A text is never removed; a million fit.
class StringTable {
 public:
  constexpr StringTable() = default;

  // From 1; the same text has the same number for good. 0 when the table is full.
  uint32_t number(const std::string& text);
  // "" for 0 and for an unknown number. Any thread, no lock; the text stays.
  [[nodiscard]] const std::string& text(uint32_t number) const;

 private:
  static constexpr uint32_t kBlock = 1024;
  static constexpr uint32_t kBlocks = 1024;

  std::array<std::atomic<std::string*>, kBlocks> blocks_{};
  std::atomic<uint32_t> count_{0};
  std::mutex writer_;
  std::unordered_map<std::string, uint32_t>* numbers_ = nullptr;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_PYTHON_STRING_TABLE_H_
