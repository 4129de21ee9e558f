#include "tensor/tensor_sketch.h"

namespace tensortap {

std::string_view sketch_state_text(SketchState state) {
  switch (state) {
    case SketchState::kNoAxis:
      return "the tensor has no such axis";
    case SketchState::kTooManyChannels:
      return "the axis has more than 65,536 channels";
    case SketchState::kNoNumbers:
      return "the tensor has no numbers";
    case SketchState::kSampled:
      return "only a sample of the tensor was looked at";
    case SketchState::kNotWritten:
      return "there was no room for it";
    case SketchState::kNotAsked:
    case SketchState::kThere:
      break;
  }
  return "";
}

}  // namespace tensortap
