// What ATC, the compiler of .om files, would have been told about open dimensions: TENSORTAP_ACL_ATC.

#ifndef TENSORTAP_SOURCE_ACL_SHAPE_OPTIONS_H_
#define TENSORTAP_SOURCE_ACL_SHAPE_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap::acl {

struct ShapeOptions {
  std::map<std::string, std::vector<int64_t>> input_shapes;  // --input_shape="a:1,3,-1,-1;b:-1,4"
  std::vector<int64_t> batches;                              // --dynamic_batch_size="1,2,4"
  std::vector<std::vector<int64_t>> images;                  // --dynamic_image_size="224,224;448,448"
  std::vector<std::vector<int64_t>> dims;                    // --dynamic_dims="1,224;8,448": for the open dimensions in order

  [[nodiscard]] bool has_gears() const { return !batches.empty() || !images.empty() || !dims.empty(); }
};

// "" is none. Errors: kInvalidArgument for another option, for numbers that are none, and for more than one kind of gears.
Result<ShapeOptions> parse_shape_options(std::string_view text);

}  // namespace tensortap::acl

#endif  // TENSORTAP_SOURCE_ACL_SHAPE_OPTIONS_H_
