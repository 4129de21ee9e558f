#include "source/onnxruntime/program/binding_session_maker.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "source/onnxruntime/origins/channel_block.h"
#include "source/onnxruntime/runtime/runtime_library.h"

namespace tensortap::onnxruntime {
namespace {

std::string& answer_of_thread() {
  static thread_local std::string text;
  return text;
}

}  // namespace

void BindingSessionMaker::answer(std::string_view text) { answer_of_thread() = text; }

Status BindingSessionMaker::optimise(int32_t level, const PassFiles& files) {
  answer_of_thread().clear();
  if (calls_.optimise(calls_.user, level, files.path().c_str(), files.weights_name().c_str()) == 0) return {};
  return internal_error(std::exchange(answer_of_thread(), {}));
}

Status BindingSessionMaker::load(std::string_view tapped, const std::string& folder) {
  answer_of_thread().clear();
  if (calls_.load(calls_.user, tapped.data(), tapped.size(), folder.c_str()) == 0) return {};
  return internal_error(std::exchange(answer_of_thread(), {}));
}

Status BindingSessionMaker::load_twin(std::string_view executed, const std::string& folder) {
  answer_of_thread().clear();
  if (calls_.load_twin(calls_.user, executed.data(), executed.size(), folder.c_str()) == 0) return {};
  return internal_error(std::exchange(answer_of_thread(), {}));
}

Status BindingSessionMaker::make_plain() {
  answer_of_thread().clear();
  if (calls_.make_plain(calls_.user) == 0) return {};
  return internal_error(std::exchange(answer_of_thread(), {}));
}

Result<uint32_t> BindingSessionMaker::channel_block() {
  answer_of_thread().clear();
  const std::string model = reordering_model();
  if (calls_.reorder(calls_.user, model.data(), model.size()) != 0) return internal_error(std::move(answer_of_thread()));
  std::vector<float> numbers(answer_of_thread().size() / sizeof(float));
  std::memcpy(numbers.data(), answer_of_thread().data(), numbers.size() * sizeof(float));
  return channel_block_in(numbers);
}

Result<abi::CustomOpDomain*> tap_domain_of(const abi::ApiBase& base, Api& api) {
  static std::mutex mutex;
  static auto& operators = *new std::map<const abi::ApiBase*, std::unique_ptr<TapOperators>>;
  const std::lock_guard lock(mutex);
  TENSORTAP_ASSIGN_OR_RETURN(api, newest_api(base, "the program's ONNX Runtime"));
  auto& made = operators[&base];
  if (made == nullptr) {
    TENSORTAP_ASSIGN_OR_RETURN(made, TapOperators::create_for_published(api));
  }
  return made->domain();
}

}  // namespace tensortap::onnxruntime
