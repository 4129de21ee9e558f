// Sessions that a program makes by the C interface.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_C_SESSION_MAKER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_C_SESSION_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "source/onnxruntime/program/foreign_session.h"
#include "source/onnxruntime/program/program_logging.h"
#include "source/onnxruntime/program/program_options.h"

namespace tensortap::onnxruntime {

// How the program asked for its session. One of path and data is null.
struct SessionCall {
  const abi::Env* env;
  const char* path;
  const void* data;
  size_t size;
  const abi::SessionOptions* options;
  abi::PrepackedWeights* packed;
};

abi::Status* create(const Api& api, const SessionCall& call, abi::Session** session);

// What is known of a library and of the program's options for it.
struct ProgramRuntime {
  Api api;
  std::string version;
  std::unique_ptr<TapOperators> operators;
  MarkedOptions writing;    // the optimised model into a file
  MarkedOptions replacing;  // weights of the model
  MarkedOptions profiling;  // its runs
  ProgramLogging logging;
};

class CSessionMaker final : public SessionMaker {
 public:
  // Borrows both.
  CSessionMaker(ProgramRuntime& runtime, const SessionCall& call) : runtime_(runtime), call_(call) {}
  CSessionMaker(const CSessionMaker&) = delete;
  CSessionMaker& operator=(const CSessionMaker&) = delete;
  ~CSessionMaker() override = default;

  Status optimise(int32_t level, const PassFiles& files) override;
  Status load(std::string_view tapped, const std::string& folder) override;
  Status load_twin(std::string_view executed, const std::string& folder) override;
  Status make_plain() override;
  Result<uint32_t> channel_block() override;

  // What load() and load_twin() made.
  abi::Session* release() { return session_.release(); }
  std::shared_ptr<abi::Session> take_twin() { return std::move(twin_); }

 private:
  Result<Owned<abi::Session>> make(const SessionCall& call);
  [[nodiscard]] std::optional<LineReceiver> receiver() const { return runtime_.logging.receiver(call_.env, call_.options); }
  Result<Owned<abi::SessionOptions>> options_of_graph(const std::string& folder);

  ProgramRuntime& runtime_;
  const SessionCall& call_;
  Owned<abi::Session> session_;
  Owned<abi::Session> twin_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_C_SESSION_MAKER_H_
