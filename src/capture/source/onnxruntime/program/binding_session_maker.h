// Sessions that a language with its own binding of ONNX Runtime makes: the maker behind tensortap_onnxruntime_capture().

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_BINDING_SESSION_MAKER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_BINDING_SESSION_MAKER_H_

#include <string>

#include "source/onnxruntime/program/foreign_session.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::onnxruntime {

// Calls the functions of `calls`, which must outlive it.
class BindingSessionMaker final : public SessionMaker {
 public:
  explicit BindingSessionMaker(const tensortap_onnxruntime_maker& calls) : calls_(calls) {}

  Status optimise(int32_t level, const PassFiles& files) override;
  Status load(std::string_view tapped, const std::string& folder) override;
  Status load_twin(std::string_view executed, const std::string& folder) override;
  Status make_plain() override;
  Result<uint32_t> channel_block() override;

  // What a called function answers on this thread.
  static void answer(std::string_view text);

 private:
  const tensortap_onnxruntime_maker& calls_;
};

// The operators of taps for options of the library that `base` is of. Made once for each library. Errors: those of newest_api().
Result<abi::CustomOpDomain*> tap_domain_of(const abi::ApiBase& base, Api& api);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_BINDING_SESSION_MAKER_H_
