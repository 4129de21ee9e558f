// The sizes of dimensions that a model leaves open. One that has a name has one size, wherever the name stands.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_SYMBOL_SIZES_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_SYMBOL_SIZES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "source/onnxruntime/model/onnx_model.h"
#include "tensortap/capture.h"

namespace tensortap::onnxruntime {

class SymbolSizes {
 public:
  // `chosen`: what the caller sets by name ("batch") or by place ("tokens.1"), which must outlive this object, as the inputs must. A
  // name without a size is 1 if the first dimension that has it is the first of its input (the batch), and 16 otherwise.
  SymbolSizes(const std::vector<ValueInfo>& inputs, const std::map<std::string, int64_t>& chosen);

  // Takes the sizes of an input that was given.
  void learn(const ValueInfo& info, const tensortap_tensor& given);

  // Gives the sizes of an input that is made. Errors: kInvalidArgument when one of its dimensions has two sizes elsewhere.
  [[nodiscard]] Result<std::vector<int64_t>> dims_of(const ValueInfo& info) const;

 private:
  struct Size {
    int64_t size = -1;
    std::string origin;         // of the size: "--dim", "input \"x\""
    std::string contradiction;  // what gives another one, "" = nothing does
  };
  void set(std::string_view symbol, int64_t size, const std::string& origin);

  const std::map<std::string, int64_t>& chosen_;
  std::map<std::string, Size, std::less<>> sizes_;
  std::map<std::string, int64_t, std::less<>> usual_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_SYMBOL_SIZES_H_
