// Reports a model's weights once, when it is loaded.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_WEIGHT_SENDER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_WEIGHT_SENDER_H_

#include <string>

#include "source/onnxruntime/origins/author_weights.h"
#include "source/onnxruntime/taps/registered_ops.h"

namespace tensortap::onnxruntime {

// Sends every wanted weight as an event of phase LOAD. Data inside the model is borrowed from its bytes, data in files beside
// it is mapped, one file at a time. Weights that the runtime has put into blocks are put back into the author's order; a note lists those
// that are not bit for bit what the author has under their name. Weights that cannot be read are reported as not captured.
void send_weights(tensortap_session* session, const OpTable& table, const OpIds& ids, const std::string& external_folder,
                  AuthorWeights author);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_WEIGHT_SENDER_H_
