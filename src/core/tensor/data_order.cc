#include "tensor/data_order.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tensortap {
namespace {

constexpr int64_t kBlock = 16;  // of the blocks that we make
enum Axis : size_t { kN, kC, kD, kH, kW, kAxes };
using Sizes = std::array<int64_t, kAxes>;

struct OrderRow {
  std::string_view name;
  std::string_view axes;  // of orders without blocks, outermost first
};
constexpr std::array kOrderRows = {
    OrderRow{"ND", ""},         OrderRow{"NCHW", "NCHW"}, OrderRow{"NHWC", "NHWC"}, OrderRow{"HWCN", "HWCN"},  OrderRow{"NCDHW", "NCDHW"},
    OrderRow{"NDHWC", "NDHWC"}, OrderRow{"NC1HWC0", ""},  OrderRow{"NDC1HWC0", ""}, OrderRow{"FRACTAL_Z", ""}, OrderRow{"FRACTAL_NZ", ""}};

size_t axis_of(char letter) { return std::string_view("NCDHW").find(letter); }
int64_t up(int64_t value, int64_t block) { return (value + block - 1) / block; }

// Where elements lie: the offset of an element is the sum of what its axes give. With groups, N and C belong together.
struct Places {
  Sizes sizes{1, 1, 1, 1, 1};
  std::array<std::vector<uint64_t>, kAxes> at;
  std::vector<uint64_t> of_channels;  // of N and C together, by n * C + c, instead of theirs
  Shape shape;                        // of the whole
};

void fill_axis(std::vector<uint64_t>& at, int64_t size, int64_t block, uint64_t outer, uint64_t inner) {
  at.resize(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i)
    at[static_cast<size_t>(i)] = static_cast<uint64_t>(i / block) * outer + static_cast<uint64_t>(i % block) * inner;
}

Status no_fit(DataOrder order, const Shape& shape, std::string_view why) {
  return invalid_argument(concat(shape.to_text(), " cannot be a shape in the order ", data_order_name(order), ": ", why));
}

std::string_view axes_of(DataOrder order, int rank) {
  if (order != DataOrder::kNd) return kOrderRows[static_cast<size_t>(order)].axes;
  return rank == 5 ? "NCDHW" : "NCHW";
}

Result<Sizes> sizes_of(DataOrder order, const Shape& shape) {
  const std::string_view axes = axes_of(order, shape.rank());
  if (static_cast<size_t>(shape.rank()) != axes.size()) return no_fit(order, shape, concat("it has ", axes.size(), " dimensions"));
  Sizes sizes{1, 1, 1, 1, 1};
  for (size_t i = 0; i < axes.size(); ++i) sizes[axis_of(axes[i])] = shape[static_cast<int>(i)];
  return sizes;
}

Places plain_places(std::string_view axes, const Sizes& sizes) {
  Places places;
  places.sizes = sizes;
  std::vector<int64_t> dims;
  for (const char letter : axes) dims.push_back(sizes[axis_of(letter)]);
  places.shape = Shape(dims);
  for (std::vector<uint64_t>& at : places.at) at.assign(1, 0);
  uint64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const size_t axis = axis_of(axes[i]);
    fill_axis(places.at[axis], sizes[axis], 1, stride, 0);
    stride *= static_cast<uint64_t>(sizes[axis]);
  }
  return places;
}

// [N, (D,) C1, H, W, C0]
Places channel_block_places(bool with_depth, const Sizes& sizes, int64_t block) {
  Places places;
  places.sizes = sizes;
  const int64_t blocks = up(sizes[kC], block);
  std::vector<int64_t> dims = {sizes[kN]};
  if (with_depth) dims.push_back(sizes[kD]);
  for (const int64_t dim : {blocks, sizes[kH], sizes[kW], block}) dims.push_back(dim);
  places.shape = Shape(dims);
  const auto width = static_cast<uint64_t>(block);
  const uint64_t row = width * static_cast<uint64_t>(sizes[kW]);
  const uint64_t plane = row * static_cast<uint64_t>(sizes[kH]);
  const uint64_t volume = plane * static_cast<uint64_t>(blocks);
  fill_axis(places.at[kW], sizes[kW], 1, width, 0);
  fill_axis(places.at[kH], sizes[kH], 1, row, 0);
  fill_axis(places.at[kC], sizes[kC], block, plane, 1);
  fill_axis(places.at[kD], sizes[kD], 1, volume, 0);
  fill_axis(places.at[kN], sizes[kN], 1, volume * static_cast<uint64_t>(sizes[kD]), 0);
  return places;
}

// [C1 * H * W, N1, N0, C0]. Groups lie side by side, as many as fill whole blocks, and then one such row of groups behind another.
Result<Places> fractal_z_places(const Sizes& sizes, int64_t groups, int64_t n0, int64_t c0) {
  if (groups < 1 || sizes[kN] % groups != 0) return invalid_argument(concat(sizes[kN], " filters cannot be in ", groups, " groups"));
  const int64_t filters = sizes[kN] / groups;
  const int64_t channels = sizes[kC];
  if (filters == 0 || channels == 0) return invalid_argument("a tensor without filters or channels has no blocks");
  const int64_t beside = std::min(std::lcm(std::lcm(channels, c0) / channels, std::lcm(filters, n0) / filters), groups);
  const int64_t c1 = up(beside * channels, c0);
  const int64_t n1 = up(beside * filters, n0);
  Places places;
  places.sizes = sizes;
  places.shape = Shape({up(groups, beside) * c1 * sizes[kH] * sizes[kW], n1, n0, c0});
  const auto cell = static_cast<uint64_t>(n1 * n0 * c0);
  fill_axis(places.at[kD], 1, 1, 0, 0);
  fill_axis(places.at[kW], sizes[kW], 1, cell, 0);
  fill_axis(places.at[kH], sizes[kH], 1, cell * static_cast<uint64_t>(sizes[kW]), 0);
  const uint64_t plane = cell * static_cast<uint64_t>(sizes[kH] * sizes[kW]);
  for (int64_t n = 0; n < sizes[kN]; ++n) {
    const int64_t group = n / filters;
    const int64_t in_row = group % beside * filters + n % filters;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t channel = group % beside * channels + c;
      places.of_channels.push_back(static_cast<uint64_t>(group / beside * c1 + channel / c0) * plane +
                                   static_cast<uint64_t>(in_row / n0 * n0 * c0 + in_row % n0 * c0 + channel % c0));
    }
  }
  return places;
}

// [..., C1, N1, N0, C0]: rows and columns in blocks. The rows are H, the columns W, what is before them for N.
Places fractal_nz_places(const Sizes& sizes, const std::vector<int64_t>& before, int64_t n0, int64_t c0) {
  Places places;
  places.sizes = sizes;
  const int64_t n1 = up(sizes[kH], n0);
  const int64_t c1 = up(sizes[kW], c0);
  std::vector<int64_t> dims = before;
  for (const int64_t dim : {c1, n1, n0, c0}) dims.push_back(dim);
  places.shape = Shape(dims);
  const auto cell = static_cast<uint64_t>(n0 * c0);
  fill_axis(places.at[kH], sizes[kH], n0, cell, static_cast<uint64_t>(c0));
  fill_axis(places.at[kW], sizes[kW], c0, cell * static_cast<uint64_t>(n1), 1);
  fill_axis(places.at[kN], sizes[kN], 1, cell * static_cast<uint64_t>(n1 * c1), 0);
  places.at[kC].assign(1, 0);
  places.at[kD].assign(1, 0);
  return places;
}

// Rows and columns of a matrix, or of several.
Sizes matrix_sizes(const Shape& shape) {
  Sizes sizes{1, 1, 1, 1, 1};
  const int rank = shape.rank();
  if (rank > 0) sizes[kW] = shape[rank - 1];
  if (rank > 1) sizes[kH] = shape[rank - 2];
  for (int i = 0; i + 2 < rank; ++i) sizes[kN] *= shape[i];
  return sizes;
}

std::vector<int64_t> leading(const Shape& shape, int behind) {
  std::vector<int64_t> dims;
  for (int i = 0; i + behind < shape.rank(); ++i) dims.push_back(shape[i]);
  return dims;
}

// A tensor of matrices as it is without blocks.
Places matrix_places(const Shape& shape) {
  Places places = plain_places("NHW", matrix_sizes(shape));
  places.at[kC].assign(1, 0);
  places.at[kD].assign(1, 0);
  places.shape = shape;
  return places;
}

struct Way {
  Places from;
  Places to;
};

// Number of channels according to the whole shape, when it fits what the blocks hold, in the first order in which it does.
std::optional<int64_t> channels_of(const OrderChange& change, const Sizes& padded, int64_t block) {
  for (const DataOrder order : {change.to, DataOrder::kNchw, DataOrder::kNhwc, DataOrder::kHwcn, DataOrder::kNcdhw, DataOrder::kNdhwc}) {
    const Result<Sizes> sizes = sizes_of(order, change.whole);
    if (!sizes.ok()) continue;
    Sizes same = *sizes;
    same[kC] = padded[kC];
    const int64_t channels = (*sizes)[kC];
    if (same == padded && channels <= padded[kC] && channels > padded[kC] - block) return channels;
  }
  return std::nullopt;
}

Result<Way> from_channel_blocks(const Shape& shape, const OrderChange& change) {
  const bool with_depth = change.from == DataOrder::kNdc1hwc0;
  const int rank = with_depth ? 6 : 5;
  if (shape.rank() != rank) return no_fit(change.from, shape, concat("it has ", rank, " dimensions"));
  const int64_t block = shape[rank - 1];
  Sizes sizes{shape[0], shape[with_depth ? 2 : 1] * block, with_depth ? shape[1] : 1, shape[rank - 3], shape[rank - 2]};
  if (block < 1) return no_fit(change.from, shape, "its blocks are empty");
  if (change.whole.rank() > 0) {
    const std::optional<int64_t> channels = channels_of(change, sizes, block);
    if (!channels) return no_fit(change.from, shape, concat("the shape without blocks would be ", change.whole.to_text()));
    sizes[kC] = *channels;
  }
  const std::string_view axes = axes_of(change.to, with_depth ? 5 : 4);
  if (axes.size() != (with_depth ? 5U : 4U)) return no_fit(change.to, shape, "it has another number of dimensions");
  return Way{channel_block_places(with_depth, sizes, block), plain_places(axes, sizes)};
}

Result<Way> to_channel_blocks(const Shape& shape, const OrderChange& change) {
  const bool with_depth = change.to == DataOrder::kNdc1hwc0;
  TENSORTAP_ASSIGN_OR_RETURN(const Sizes sizes, sizes_of(change.from, shape));
  const std::string_view axes = axes_of(change.from, shape.rank());
  if (axes.size() != (with_depth ? 5U : 4U)) return no_fit(change.from, shape, concat("for ", data_order_name(change.to)));
  return Way{plain_places(axes, sizes), channel_block_places(with_depth, sizes, kBlock)};
}

Result<Way> with_fractal_z(const Shape& shape, const OrderChange& change) {
  const bool reads = change.from == DataOrder::kFractalZ;
  const DataOrder plain = reads ? change.to : change.from;
  const Shape& whole = reads ? change.whole : shape;
  if (reads && whole.rank() == 0) return invalid_argument("FRACTAL_Z does not store the shape without blocks; give it");
  if (reads && shape.rank() != 4) return no_fit(change.from, shape, "it has 4 dimensions");
  TENSORTAP_ASSIGN_OR_RETURN(const Sizes sizes, sizes_of(plain, whole));
  const std::string_view axes = axes_of(plain, whole.rank());
  if (axes.size() != 4) return no_fit(plain, whole, "FRACTAL_Z is for 4 dimensions");
  const int64_t n0 = reads ? shape[2] : kBlock;
  const int64_t c0 = reads ? shape[3] : kBlock;
  if (n0 < 1 || c0 < 1 || n0 > 4096 || c0 > 4096) return no_fit(DataOrder::kFractalZ, shape, "its blocks are empty or too large");
  TENSORTAP_ASSIGN_OR_RETURN(Places blocks, fractal_z_places(sizes, change.groups, n0, c0));
  if (reads && blocks.shape != shape) {
    return no_fit(change.from, shape, concat(whole.to_text(), " in ", change.groups, " groups would be ", blocks.shape.to_text()));
  }
  return reads ? Way{std::move(blocks), plain_places(axes, sizes)} : Way{plain_places(axes, sizes), std::move(blocks)};
}

Result<Way> from_fractal_nz(const Shape& shape, const OrderChange& change) {
  const int rank = shape.rank();
  if (rank < 4) return no_fit(change.from, shape, "it has at least 4 dimensions");
  const int64_t c0 = shape[rank - 1];
  const int64_t n0 = shape[rank - 2];
  std::vector<int64_t> dims = leading(shape, 4);
  const Sizes before = matrix_sizes(Shape(dims));
  const int64_t count = before[kN] * before[kH] * before[kW];
  dims.push_back(shape[rank - 3] * n0);
  dims.push_back(shape[rank - 4] * c0);
  const Shape padded(dims);
  const Shape whole = change.whole.rank() > 0 ? change.whole : padded;
  const Sizes sizes = matrix_sizes(whole);
  if (n0 < 1 || c0 < 1 || sizes[kN] != count || up(sizes[kH], n0) != shape[rank - 3] || up(sizes[kW], c0) != shape[rank - 4]) {
    return no_fit(change.from, shape, concat("the shape without blocks would be ", whole.to_text()));
  }
  return Way{fractal_nz_places(sizes, leading(shape, 4), n0, c0), matrix_places(whole)};
}

Result<Way> find_way(const Shape& shape, const OrderChange& change) {
  const auto is_channel_blocks = [](DataOrder order) { return order == DataOrder::kNc1hwc0 || order == DataOrder::kNdc1hwc0; };
  if (is_blocked(change.from) && is_blocked(change.to)) {
    return unsupported(concat("there is no way from ", data_order_name(change.from), " to ", data_order_name(change.to),
                              "; go by an order without blocks"));
  }
  if (is_channel_blocks(change.from)) return from_channel_blocks(shape, change);
  if (is_channel_blocks(change.to)) return to_channel_blocks(shape, change);
  if (change.from == DataOrder::kFractalZ || change.to == DataOrder::kFractalZ) return with_fractal_z(shape, change);
  if (change.from == DataOrder::kFractalNz) return from_fractal_nz(shape, change);
  if (change.to == DataOrder::kFractalNz) {
    if (shape.rank() < 1) return no_fit(change.to, shape, "a scalar has no matrix");
    return Way{matrix_places(shape), fractal_nz_places(matrix_sizes(shape), leading(shape, 2), kBlock, kBlock)};
  }
  TENSORTAP_ASSIGN_OR_RETURN(const Sizes sizes, sizes_of(change.from, shape));
  const std::string_view axes = axes_of(change.from, shape.rank());
  const std::string_view target = axes_of(change.to, shape.rank());
  if (axes.size() != target.size()) return no_fit(change.to, shape, "it has another number of dimensions");
  return Way{plain_places(axes, sizes), plain_places(target, sizes)};
}

template <size_t bytes>
void copy_elements(const Way& way, const std::byte* from, std::byte* to) {
  const Sizes& sizes = way.from.sizes;
  const auto channel_at = [&sizes](const Places& places, int64_t n, int64_t c) {
    if (!places.of_channels.empty()) return places.of_channels[static_cast<size_t>(n * sizes[kC] + c)];
    return places.at[kN][static_cast<size_t>(n)] + places.at[kC][static_cast<size_t>(c)];
  };
  const uint64_t* from_w = way.from.at[kW].data();
  const uint64_t* to_w = way.to.at[kW].data();
  for (int64_t n = 0; n < sizes[kN]; ++n) {
    for (int64_t c = 0; c < sizes[kC]; ++c) {
      for (int64_t d = 0; d < sizes[kD]; ++d) {
        for (int64_t h = 0; h < sizes[kH]; ++h) {
          const uint64_t source =
              channel_at(way.from, n, c) + way.from.at[kD][static_cast<size_t>(d)] + way.from.at[kH][static_cast<size_t>(h)];
          const uint64_t target = channel_at(way.to, n, c) + way.to.at[kD][static_cast<size_t>(d)] + way.to.at[kH][static_cast<size_t>(h)];
          for (int64_t w = 0; w < sizes[kW]; ++w) std::memcpy(to + (target + to_w[w]) * bytes, from + (source + from_w[w]) * bytes, bytes);
        }
      }
    }
  }
}

void copy_elements_of(uint32_t bytes, const Way& way, const std::byte* from, std::byte* to) {
  switch (bytes) {
    case 1:
      return copy_elements<1>(way, from, to);
    case 2:
      return copy_elements<2>(way, from, to);
    case 4:
      return copy_elements<4>(way, from, to);
    case 8:
      return copy_elements<8>(way, from, to);
    default:
      return copy_elements<16>(way, from, to);
  }
}

}  // namespace

std::optional<DataOrder> data_order_from_name(std::string_view name) {
  const std::string lower = to_lower(name);
  for (size_t i = 0; i < kOrderRows.size(); ++i) {
    if (to_lower(kOrderRows[i].name) == lower) return static_cast<DataOrder>(i);
  }
  return std::nullopt;
}

std::string_view data_order_name(DataOrder order) { return kOrderRows[static_cast<size_t>(order)].name; }

bool is_blocked(DataOrder order) { return order >= DataOrder::kNc1hwc0; }

Result<OwnedTensor> change_order(const TensorView& view, const OrderChange& change) {
  const uint32_t bits = dtype_info(view.desc.dtype).bits;
  if (bits < 8 || bits % 8 != 0) return unsupported(concat(dtype_name(view.desc.dtype), " elements have no whole bytes to put in order"));
  const std::optional<uint64_t> numel = view.desc.shape.numel();
  if (!numel || (view.data == nullptr && *numel > 0)) return invalid_argument("a tensor without values has no order");
  if (*numel == 0) return unsupported("a tensor without elements has no order");
  if (change.whole.rank() > 0 && change.whole.numel().value_or(UINT64_MAX) > *numel) {
    return invalid_argument(concat(change.whole.to_text(), " has more elements than ", view.desc.shape.to_text()));
  }
  TENSORTAP_ASSIGN_OR_RETURN(const Way way, find_way(view.desc.shape, change));
  const std::optional<uint64_t> target = way.to.shape.numel();
  const std::optional<uint64_t> size = target ? packed_bytes(view.desc.dtype, *target) : std::nullopt;
  if (!size) return invalid_argument("the tensor is too large");
  OwnedTensor changed{{view.desc.dtype, way.to.shape}, nullptr};
  auto* memory = new (std::nothrow) std::byte[*size];
  if (memory == nullptr) return exhausted(concat("no memory for ", bytes_text(*size)));
  changed.data.reset(memory);
  if (is_blocked(change.to)) std::memset(memory, 0, *size);
  copy_elements_of(bits / 8, way, static_cast<const std::byte*>(view.data), memory);
  return changed;
}

}  // namespace tensortap
