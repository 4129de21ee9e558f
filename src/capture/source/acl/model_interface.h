// The inputs and outputs of a model, and what their open dimensions are in one run.

#ifndef TENSORTAP_SOURCE_ACL_MODEL_INTERFACE_H_
#define TENSORTAP_SOURCE_ACL_MODEL_INTERFACE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "source/acl/objects.h"
#include "source/acl/shape_options.h"

namespace tensortap::acl_source {

struct ValueFacts {
  std::string name;
  aclDataType type = ACL_DT_UNDEFINED;
  bool has_shape = false;
  std::vector<int64_t> dims;         // -1 = open
  std::vector<std::string> symbols;  // of open dimensions, "" = none; as many as dims
  aclFormat format = ACL_FORMAT_ND;
};

using Shapes = std::vector<std::vector<int64_t>>;

// One input of a run, as a data set has it.
struct GivenInput {
  size_t bytes = 0;
  const aclTensorDesc* description = nullptr;  // null = the data set says nothing of the shape
};

// Immutable.
class ModelInterface {
 public:
  // From what tensortap_onnxruntime_model_open() reports. Errors: kUnsupported for inputs that are not tensors, kInvalidArgument for
  // options that do not fit the model.
  static Result<ModelInterface> create(const Json& description, const ShapeOptions& options);

  [[nodiscard]] const std::vector<ValueFacts>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<ValueFacts>& outputs() const { return outputs_; }
  [[nodiscard]] const std::string& name() const { return name_; }  // in messages
  [[nodiscard]] bool is_dynamic() const { return open_count_ > 0; }
  [[nodiscard]] bool has_gears() const { return !gears_.empty(); }
  // The sizes of the open dimensions of all inputs, in order: one row for each gear.
  [[nodiscard]] const Shapes& gears() const { return gears_; }
  [[nodiscard]] size_t open_count() const { return open_count_; }
  // All open dimensions are the first of their input.
  [[nodiscard]] bool only_batch_is_open() const { return only_batch_; }
  // Height and width are what is open, of one input of four dimensions.
  [[nodiscard]] bool only_image_is_open() const { return only_image_; }

  // Bytes; 0 when they are not known. `largest`: of the largest that may come, otherwise of a batch of one.
  [[nodiscard]] size_t input_bytes(size_t index, bool largest) const;
  [[nodiscard]] size_t output_bytes(size_t index, bool largest) const;

  // Whether a data set may ask for these sizes: ACL_ERROR_MODEL_NOT_DYNAMIC, ACL_ERROR_INVALID_PARAM.
  [[nodiscard]] aclError check_sizes(const DynamicSizes& sizes) const;

  // The shape of every input of a run: what the data set says, then its descriptions, then the buffers' sizes.
  // Errors: kInvalidArgument, with what does not fit.
  [[nodiscard]] Result<Shapes> input_shapes(const DynamicSizes& sizes, std::span<const GivenInput> given) const;
  // Shapes of the outputs as far as those of the inputs determine them; -1 = open.
  [[nodiscard]] Shapes output_shapes(const Shapes& inputs) const;

 private:
  using Sizes = std::vector<int64_t>;  // of the open dimensions of all inputs, in order
  Status take_shapes(const ShapeOptions& options);
  Status take_gears(const ShapeOptions& options);
  // Sizes for the open dimensions in the order of --input_shape, in the order of the inputs.
  [[nodiscard]] Sizes in_order_of_inputs(const Sizes& listed, const std::vector<std::string>& order) const;
  [[nodiscard]] std::string open_dims_text() const;
  void survey();
  [[nodiscard]] std::optional<Shapes> shapes_with(const Sizes& sizes) const;
  [[nodiscard]] std::vector<Sizes> sizes_to_expect(bool largest) const;
  [[nodiscard]] size_t most_bytes(bool largest, const std::function<std::optional<uint64_t>(const Shapes&)>& bytes_of) const;
  [[nodiscard]] Result<Sizes> sizes_of(const DynamicSizes& asked) const;
  Status fill_from_descriptions(std::span<const GivenInput> given, Shapes& shapes) const;
  void fill_from_symbols(Shapes& shapes) const;
  Status fill_from_bytes(std::span<const GivenInput> given, bool sizes_were_set, Shapes& shapes) const;

  std::string name_;
  std::vector<ValueFacts> inputs_;
  std::vector<ValueFacts> outputs_;
  Shapes gears_;
  size_t open_count_ = 0;
  bool only_batch_ = false;
  bool only_image_ = false;
};

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_MODEL_INTERFACE_H_
