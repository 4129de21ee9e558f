#include "source/onnxruntime/program/given_model.h"

#include <utility>

namespace tensortap::onnxruntime {

GivenModel::GivenModel(const char* path, const void* bytes, size_t size, std::string runtime) {
  model_.runtime = std::move(runtime);
  if (path == nullptr || *path == '\0') {
    model_.bytes = {static_cast<const char*>(bytes), bytes == nullptr ? 0 : size};
    return;
  }
  model_.path = path;
  auto file = ModelFile::open(path);
  if (!file.ok()) return;
  file_.emplace(*std::move(file));
  model_.file = &*file_;
  model_.bytes = file_->bytes();
  model_.folder = file_->folder();
}

}  // namespace tensortap::onnxruntime
