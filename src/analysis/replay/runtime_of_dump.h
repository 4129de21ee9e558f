// What a dump says of the runtime that made it, as far as running its ops again needs it.

#ifndef TENSORTAP_REPLAY_RUNTIME_OF_DUMP_H_
#define TENSORTAP_REPLAY_RUNTIME_OF_DUMP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

struct OperatorSetOfDump {
  std::string domain;  // "" = ai.onnx
  int64_t version = 0;
};

// What run.json says of the runtime that made a dump (docs/layouts/tap.md). Untrusted.
struct RuntimeOfDump {
  std::string source;   // "onnxruntime 1.31.1"; "" = not known
  std::string library;  // path, "" = not known
  std::vector<OperatorSetOfDump> opset;
  std::vector<std::string> custom_ops;  // libraries
  int threads = 0;                      // 0 = the runtime's choice
  // How far the runtime optimised the graph of the dump when it loaded it: "none", "basic", "extended" or "all".
  std::string optimization = "none";
};
RuntimeOfDump runtime_of(const DumpIndex& dump);

// The operator set of ai.onnx that is taken where the dump does not say one.
inline constexpr int64_t kAssumedOpset = 17;

}  // namespace tensortap

#endif  // TENSORTAP_REPLAY_RUNTIME_OF_DUMP_H_
