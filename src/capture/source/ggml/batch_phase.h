// Whether a batch of tokens that llama.cpp computes is a prompt, or the next token of each sequence.

#ifndef TENSORTAP_SOURCE_GGML_BATCH_PHASE_H_
#define TENSORTAP_SOURCE_GGML_BATCH_PHASE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "source/ggml/ggml_library.h"
#include "source/ggml/tensor_values.h"

namespace tensortap::ggml {

// Where a graph has what tells it: the op that writes the keys of the tokens into cells of the cache, and the mask of the attention that
// reads them, in which each token has the cells that it sees.
struct BatchPlaces {
  size_t writes_keys = 0;  // number of the node
  size_t reads_mask = 0;   // of the node; 0 = the graph has none of this
  size_t mask_source = 0;  // which of its inputs is the mask
};
BatchPlaces batch_places_of(const GgmlLibrary& library, const std::vector<GgmlTensor>& nodes);

// A number of enum tensortap_model_phase, before the graph is computed. Decode: no token sees another one of the batch, and each sees an
// earlier cell. Prefill: each token sees another one of the batch, is seen by one, or is the first of its sequence. None: the batch has
// both, or it is not known.
uint32_t phase_of_batch(TensorValues& values, const std::vector<GgmlTensor>& nodes, const BatchPlaces& places);

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_BATCH_PHASE_H_
