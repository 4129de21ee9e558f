// The model that a program gives the runtime, read once, as the runtime reads it.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_GIVEN_MODEL_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_GIVEN_MODEL_H_

#include <cstddef>
#include <optional>
#include <string>

#include "source/onnxruntime/model/model_file.h"
#include "source/onnxruntime/program/foreign_session.h"

namespace tensortap::onnxruntime {

class GivenModel {
 public:
  // Reads the file at `path` or, without a path, borrows the bytes. The runtime reports errors of the file.
  GivenModel(const char* path, const void* bytes, size_t size, std::string runtime);
  GivenModel(const GivenModel&) = delete;
  GivenModel& operator=(const GivenModel&) = delete;
  ~GivenModel() = default;
  // Borrows from this.
  [[nodiscard]] const ForeignModel& get() const { return model_; }

 private:
  std::optional<ModelFile> file_;
  ForeignModel model_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_GIVEN_MODEL_H_
