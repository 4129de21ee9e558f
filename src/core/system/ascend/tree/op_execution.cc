#include "system/ascend/tree/op_execution.h"

#include "format/dump_data/dump_data_numbers.h"

namespace tensortap::ascend {
namespace {

void describe_pieces(const Op& op, const std::vector<Piece>& pieces, bool is_input, DescriptionRules rules,
                     std::vector<DumpDataTensor>& tensors, std::vector<FilePart>& parts) {
  std::vector<const Piece*> order;
  for (const Piece& piece : pieces) {
    if (piece.data != nullptr || piece.kept != nullptr || piece.row.bytes == 0) order.push_back(&piece);
  }
  std::ranges::sort(order, {}, &Piece::slot);
  for (const Piece* piece : order) {
    while (tensors.size() < piece->slot) tensors.emplace_back().dims = {0};
    const TensorDesc desc = piece->row.desc();
    DumpDataTensor tensor = describe_dump_data(desc);
    if (rules.images) tensor.format = image_format(desc);
    if (!is_input && !op.original.empty()) {
      tensor.origin = {op.original, piece->slot, dump_data_type_of(desc.dtype)->ge, tensor.format};
    }
    tensor.arg_index = rules.brief ? piece->slot : 0;
    if (rules.brief) {
      tensor.type = tensor.format = 0;
      tensor.dims.clear();
      tensor.original_dims.clear();
    }
    tensors.push_back(std::move(tensor));
    if (piece->row.bytes == 0) continue;
    parts.push_back({{static_cast<const std::byte*>(piece->data), piece->data == nullptr ? 0 : piece->row.bytes}, piece->kept});
  }
}

}  // namespace

void describe_execution(const Op& op, const Execution& execution, DescriptionRules rules, DumpDataFile& file,
                        std::vector<FilePart>& parts) {
  if (!rules.brief) file.op_name = op.full_name;
  describe_pieces(op, execution.inputs, true, rules, file.inputs, parts);
  describe_pieces(op, execution.outputs, false, rules, file.outputs, parts);
}

}  // namespace tensortap::ascend
