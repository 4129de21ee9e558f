#include "source/onnxruntime/weight_sender.h"

#include "source/onnxruntime/element_types.h"
#include "source/onnxruntime/weight_reader.h"

namespace tensortap::onnxruntime {
namespace {

class WeightSender {
 public:
  WeightSender(tensortap_session* session, const std::string& folder) : session_(session), reader_(folder) {}

  Status send(const OpEntry& entry, tensortap_op_id id) {
    TENSORTAP_ASSIGN_OR_RETURN(const TensorData data, reader_.read(*entry.initializer));
    const std::string name(entry.value);
    tensortap_tensor tensor{};
    tensor.size = sizeof(tensor);
    tensor.dtype = element_type(data.element_type).dtype;
    tensor.dims = data.dims.data();
    tensor.rank = static_cast<uint32_t>(data.dims.size());
    tensor.slot_kind = TENSORTAP_SLOT_OUTPUT;  // of the pseudo-op "Initializer"
    tensor.name = name.c_str();
    tensor.element = -1;
    std::vector<tensortap_string> strings;
    if (data.element_type == kElementString) {
      TENSORTAP_RETURN_IF_ERROR(read_string_data(entry, data, strings));
      tensor.data = strings.data();
    } else {
      tensor.data = data.raw.data();
    }
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
  static Status read_string_data(const OpEntry& entry, const TensorData& data, std::vector<tensortap_string>& strings) {
    TENSORTAP_ASSIGN_OR_RETURN(const auto texts, read_strings(entry.initializer->bytes));
    uint64_t count = 0;
    if (!element_count(data.dims, count) || texts.size() != count) return corrupt("strings do not fit the shape");
    for (const std::string_view text : texts) strings.push_back({text.data(), text.size()});
    return {};
  }

  tensortap_session* session_;
  WeightReader reader_;
};

}  // namespace

void send_weights(tensortap_session* session, const OpTable& table, const OpIds& ids, const std::string& external_folder) {
  WeightSender sender(session, external_folder);
  for (size_t i = 0; i < table.entries.size(); ++i) {
    if (table.entries[i].role != OpRole::kInitializer || tensortap_wants_op(session, ids[i]) == 0) continue;
    const Status sent = sender.send(table.entries[i], ids[i]);
    if (!sent.ok()) tensortap_not_captured(session, ids[i], "weight that can not be read");
  }
}

}  // namespace tensortap::onnxruntime
