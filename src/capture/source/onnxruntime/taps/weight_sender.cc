#include "source/onnxruntime/taps/weight_sender.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "source/onnxruntime/model/weight_reader.h"
#include "source/onnxruntime/runtime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

constexpr size_t kMostShown = 10;

class WeightSender {
 public:
  WeightSender(tensortap_session* session, const std::string& folder, AuthorWeights& author)
      : session_(session), reader_(folder), author_(author) {}

  Status send(const OpEntry& entry, tensortap_op_id id) {
    TENSORTAP_ASSIGN_OR_RETURN(TensorProto data, reader_.read(*entry.initializer));
    const TensorProto stored = data;
    const std::string name(entry.value);
    std::string plain;
    if (entry.blocked != nullptr) {
      TENSORTAP_RETURN_IF_ERROR(put_in_order(*entry.blocked, entry.channel_block, plain, data));
      if (!author_.hold(entry.value, data).value_or(true)) others_.push_back(name);
    }
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
    reader_.release_memory(stored);
    return {};
  }

  // Weights that are not the author's of their name.
  [[nodiscard]] const std::vector<std::string>& others() const { return others_; }

 private:
  tensortap_session* session_;
  WeightReader reader_;
  AuthorWeights& author_;
  std::vector<std::string> others_;
};

}  // namespace

void send_weights(tensortap_session* session, const OpTable& table, const OpIds& ids, const std::string& external_folder,
                  AuthorWeights author) {
  WeightSender sender(session, external_folder, author);
  for (size_t i = 0; i < table.entries.size(); ++i) {
    if (table.entries[i].role != OpRole::kInitializer || tensortap_wants_op(session, ids[i]) == 0) continue;
    const Status sent = sender.send(table.entries[i], ids[i]);
    if (!sent.ok()) tensortap_not_captured(session, ids[i], "weight that cannot be read");
  }
  const std::vector<std::string>& others = sender.others();
  if (others.empty()) return;
  const size_t shown = std::min(others.size(), kMostShown);
  const std::string names = join(std::vector<std::string>(others.begin(), others.begin() + static_cast<ptrdiff_t>(shown)), ", ");
  const std::string more = others.size() > shown ? concat(" and ", others.size() - shown, " more") : "";
  tensortap_note(session, concat("weights that are not bit for bit those of the model's file: ", names, more).c_str());
}

}  // namespace tensortap::onnxruntime
