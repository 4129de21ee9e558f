// What ATC, the compiler of .om files, was given for open dimensions: TENSORTAP_ACL_ATC.

#ifndef TENSORTAP_SOURCE_ACL_SHAPE_OPTIONS_H_
#define TENSORTAP_SOURCE_ACL_SHAPE_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap::acl_source {

// One command line of ATC, as far as it concerns sizes.
struct ShapeOptions {
  std::map<std::string, std::vector<int64_t>> input_shapes;  // --input_shape="a:1,3,-1,-1;b:-1,4"; a range such as 1~8 is -1
  std::vector<std::string> input_order;                      // names of input_shapes as they were listed
  std::vector<int64_t> batches;                              // --dynamic_batch_size="1,2,4"
  std::vector<std::vector<int64_t>> images;                  // --dynamic_image_size="224,224;448,448"
  std::vector<std::vector<int64_t>> dims;  // --dynamic_dims="1,224;8,448": for the open dimensions in the order of --input_shape
  std::vector<std::string> models;         // names of the model in --model and --output, without folder and suffix
  std::vector<std::string> not_followed;   // options that change what the program sees and have no effect here

  [[nodiscard]] bool has_gears() const { return !batches.empty() || !images.empty() || !dims.empty(); }
};

// The command lines in a text, one or several, as a shell reads them: quotes, a backslash before the end of a line, each line begun by
// "atc" or only its options. Options that have nothing to do with sizes are skipped. Errors: kInvalidArgument for an option that is nearly
// one of ours, numbers that are none, a quote without end, and more than one kind of gears.
Result<std::vector<ShapeOptions>> parse_atc_commands(std::string_view text);

// The command line of a model: the one that names it, or else the only one there is, unless it names inputs and none is the model's. Null =
// none.
const ShapeOptions* options_of_model(const std::vector<ShapeOptions>& commands, const std::string& model,
                                     const std::vector<std::string>& inputs);

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_SHAPE_OPTIONS_H_
