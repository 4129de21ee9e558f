// The files in GGUF that a model's weights come from.

#ifndef TENSORTAP_SOURCE_GGML_MODEL_FILES_H_
#define TENSORTAP_SOURCE_GGML_MODEL_FILES_H_

#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "source/ggml/gguf_file.h"

namespace tensortap::ggml {

// The weights that a graph reads, each once.
struct ReadWeight {
  std::string name;
  const void* data = nullptr;
  void* buffer = nullptr;
  uint64_t bytes = 0;
  uint64_t sample = 0;  // sample_of()
};

// By one thread at a time.
class ModelFiles {
 public:
  // Opens the files that weights are mapped from and that are not open yet. A file is taken only if it has such a weight, with the bytes
  // that are mapped.
  void add_files_of(const std::vector<ReadWeight>& weights);

  // The architecture that the first file with one names; "" = none does.
  [[nodiscard]] std::string_view architecture() const;
  // Reads a weight of this type and these dimensions. False = no file has it.
  bool read(std::string_view name, int32_t type, const std::array<int64_t, kMostDimensions>& ne, uint64_t bytes,
            std::vector<std::byte>& to) const;
  [[nodiscard]] bool has(std::string_view name) const;

 private:
  std::deque<GgufFile> files_;
  std::set<std::string> known_;  // paths
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_MODEL_FILES_H_
