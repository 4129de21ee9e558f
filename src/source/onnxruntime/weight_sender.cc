#include "source/onnxruntime/weight_sender.h"

#include "source/onnxruntime/element_types.h"
#include "source/onnxruntime/weight_reader.h"

namespace tensortap::onnxruntime {
namespace {

class WeightSender {
 public:
  WeightSender(tensortap_session* session, const std::string& folder) : session_(session), reader_(folder) {}

  Status send(const OpEntry& entry, tensortap_op_id id) {
    TENSORTAP_ASSIGN_OR_RETURN(const TensorProto data, reader_.read(*entry.initializer));
    const std::string name(entry.value);
    tensortap_tensor tensor{};
    tensor.size = sizeof(tensor);
    tensor.dtype = dtype_number(data.element_type);
    tensor.dims = data.dims.data();
    tensor.rank = static_cast<uint32_t>(data.dims.size());
    tensor.slot_kind = TENSORTAP_SLOT_OUTPUT;  // of the pseudo-op "Initializer"
    tensor.name = name.c_str();
    tensor.element = -1;
    tensor.data = data.element_type == kElementString ? static_cast<const void*>(data.strings.data()) : data.raw.data();
    tensortap_op_event event{};
    event.size = sizeof(event);
    event.op = id;
    event.phase = TENSORTAP_PHASE_LOAD;
    event.duration_ns = -1;
    event.tensors = &tensor;
    event.tensor_count = 1;
    tensortap_on_op(session_, &event);
    reader_.release_memory(data);
    return {};
  }

 private:
  tensortap_session* session_;
  WeightReader reader_;
};

}  // namespace

void send_weights(tensortap_session* session, const OpTable& table, const OpIds& ids, const std::string& external_folder) {
  WeightSender sender(session, external_folder);
  for (size_t i = 0; i < table.entries.size(); ++i) {
    if (table.entries[i].role != OpRole::kInitializer || tensortap_wants_op(session, ids[i]) == 0) continue;
    const Status sent = sender.send(table.entries[i], ids[i]);
    if (!sent.ok()) tensortap_not_captured(session, ids[i], "weight that cannot be read");
  }
}

}  // namespace tensortap::onnxruntime
