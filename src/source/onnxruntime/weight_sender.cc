#include "source/onnxruntime/weight_sender.h"

#include <map>

#include "base/files.h"
#include "base/text.h"
#include "source/onnxruntime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

class WeightSender {
 public:
  WeightSender(tensortap_session* session, const std::string& folder) : session_(session), folder_(folder) {}

  Status send(const OpEntry& entry, tensortap_op_id id) {
    std::string storage;
    TENSORTAP_ASSIGN_OR_RETURN(TensorData data, read_tensor(entry.initializer->bytes, storage));
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
      if (!data.external.file.empty()) TENSORTAP_RETURN_IF_ERROR(map_external(data));
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

  Status map_external(TensorData& data) {
    auto& map = maps_[std::string(data.external.file)];
    if (map.bytes().empty()) {
      TENSORTAP_ASSIGN_OR_RETURN(map, MappedFile::open(join_path(folder_, data.external.file)));
    }
    uint64_t count = 0;
    uint64_t size = 0;
    if (!element_count(data.dims, count) || !byte_count(data.element_type, count, size)) return corrupt("impossible shape");
    if (data.external.offset > map.text().size() || size > map.text().size() - data.external.offset)
      return corrupt("the weights file is too short");
    data.raw = map.text().substr(data.external.offset, size);
    return {};
  }

  tensortap_session* session_;
  const std::string& folder_;
  std::map<std::string, MappedFile> maps_;
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
