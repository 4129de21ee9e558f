#include "source/onnxruntime/program/c_session_maker.h"

#include "source/onnxruntime/origins/channel_block.h"
#include "source/onnxruntime/taps/session_lines.h"

namespace tensortap::onnxruntime {

abi::Status* create(const Api& api, const SessionCall& call, abi::Session** session) {
  if (call.path != nullptr && call.packed != nullptr)
    return api.find(ort::kCreateSessionWithPrepackedWeights)(call.env, call.path, call.options, call.packed, session);
  if (call.path != nullptr) return api.find(ort::kCreateSession)(call.env, call.path, call.options, session);
  if (call.packed != nullptr)
    return api.find(ort::kCreateSessionFromArrayWithPrepackedWeights)(call.env, call.data, call.size, call.options, call.packed, session);
  return api.find(ort::kCreateSessionFromArray)(call.env, call.data, call.size, call.options, session);
}

Status CSessionMaker::optimise(int32_t level, const PassFiles& files) {
  if (runtime_.replacing.has(call_.options)) return unsupported("the program replaces weights of the model (AddInitializer)");
  // The session that writes the program's own file of the optimised model says its lines.
  const std::optional<LineReceiver> to = receiver();
  const bool speaks = level == kProgramLevel && to.has_value() && !runtime_.writing.has(call_.options);
  TENSORTAP_ASSIGN_OR_RETURN(const auto options, options_for_pass(runtime_.api, call_.options, level, files, speaks));
  if (speaks) TENSORTAP_RETURN_IF_ERROR(take_lines(runtime_.api, options.get(), *to));
  SessionCall pass = call_;
  pass.options = options.get();
  pass.packed = nullptr;
  return make(pass).status();
}

Status CSessionMaker::load(std::string_view tapped, const std::string& folder) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto options, options_of_graph(folder));
  const SessionCall edited{call_.env, nullptr, tapped.data(), tapped.size(), options.get(), call_.packed};
  TENSORTAP_ASSIGN_OR_RETURN(session_, make(edited));
  return {};
}

Status CSessionMaker::load_twin(std::string_view executed, const std::string& folder) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto options, options_of_graph(folder));
  // A profile is the other session's.
  TENSORTAP_RETURN_IF_ERROR(runtime_.api.call(ort::kDisableProfiling, options.get()));
  const SessionCall plain{call_.env, nullptr, executed.data(), executed.size(), options.get(), call_.packed};
  TENSORTAP_ASSIGN_OR_RETURN(twin_, make(plain));
  return {};
}

Status CSessionMaker::make_plain() {
  TENSORTAP_ASSIGN_OR_RETURN(const auto options, copy_options(runtime_.api, call_.options));
  // A profile is the other session's.
  if (runtime_.profiling.has(call_.options)) TENSORTAP_RETURN_IF_ERROR(runtime_.api.call(ort::kDisableProfiling, options.get()));
  if (const auto to = receiver(); to.has_value()) TENSORTAP_RETURN_IF_ERROR(take_lines(runtime_.api, options.get(), *to));
  SessionCall plain = call_;
  plain.options = options.get();
  plain.packed = nullptr;
  return make(plain).status();
}

Result<Owned<abi::Session>> CSessionMaker::make(const SessionCall& call) {
  abi::Session* raw = nullptr;
  TENSORTAP_RETURN_IF_ERROR(runtime_.api.check(create(runtime_.api, call, &raw)));
  return runtime_.api.own(ort::kReleaseSession, raw);
}

Result<Owned<abi::SessionOptions>> CSessionMaker::options_of_graph(const std::string& folder) {
  TENSORTAP_ASSIGN_OR_RETURN(auto options, options_for_taps(runtime_.api, call_.options, folder, runtime_.operators->domain()));
  if (const auto to = receiver(); to.has_value()) TENSORTAP_RETURN_IF_ERROR(take_lines(runtime_.api, options.get(), *to));
  return options;
}

Result<uint32_t> CSessionMaker::channel_block() {
  return channel_block_of(RuntimeLibrary::borrow(runtime_.api, call_.env, runtime_.version));
}

}  // namespace tensortap::onnxruntime
