#include "compare/arrangement.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "compare/dump_comparison.h"
#include "compare/made_dump.h"

namespace tensortap {
namespace {

TensorView view_of(const std::vector<float>& values, const Shape& shape) { return {{DType::kFloat32, shape}, values.data(), nullptr}; }

// Of 3 sequences with 4 rows each.
std::vector<float> last_rows_of(const std::vector<float>& values, size_t row) {
  std::vector<float> last;
  for (size_t sequence = 0; sequence < 3; ++sequence) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>((sequence * 4 + 3) * row);
    last.insert(last.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
  }
  return last;
}

bool holds(const TensorView& a, const TensorView& b, const std::vector<Arrangement>& ways) {
  for (const Arrangement& way : ways) {
    if (sampled_difference(a, b, way) != 0) continue;
    const Result<Difference> difference = compare_arranged(a, b, way, {});
    return difference.ok() && difference->differing == 0;
  }
  return false;
}

TEST(Arrangement, FindsTheLastRowsOfEachSequence) {
  const std::vector<float> all = numbers(size_t{3} * 4 * 8, 1);
  const std::vector<float> last = last_rows_of(all, 8);
  for (const Shape& of_all : {Shape({3, 4, 8}), Shape({12, 8})}) {
    for (const Shape& of_last : {Shape({3, 1, 8}), Shape({3, 8})}) {
      const TensorView a = view_of(last, of_last);
      const TensorView b = view_of(all, of_all);
      EXPECT_TRUE(holds(a, b, last_rows(of_last, of_all))) << of_all.to_text() << of_last.to_text();
      EXPECT_TRUE(holds(b, a, last_rows(of_all, of_last))) << of_all.to_text() << of_last.to_text();
    }
  }
  const std::vector<float> first(all.begin(), all.begin() + 8);
  EXPECT_FALSE(holds(view_of(first, {1, 8}), view_of(all, {12, 8}), last_rows({1, 8}, {12, 8}))) << "another row is a fault";
  EXPECT_TRUE(last_rows({12, 4}, {12, 8}).empty()) << "columns are no rows";
}

TEST(Arrangement, FindsTheLastPlaceOfSequencesBehindEachOther) {
  const std::vector<float> all = numbers(size_t{3} * 4 * 2, 1);
  const std::vector<float> last = last_rows_of(all, 2);
  EXPECT_TRUE(holds(view_of(last, {3, 2}), view_of(all, {12, 2}), last_places({3, 2}, {12, 2})));
  EXPECT_FALSE(holds(view_of(all, {3, 2}), view_of(all, {12, 2}), last_places({3, 2}, {12, 2})));
}

TEST(Arrangement, ThereIsNoneOfATensorWithoutElements) {
  for (const Shape& empty : {Shape{0}, Shape{0, 2}, Shape{3, 0}}) {
    for (const Shape& other : {Shape{8}, Shape{12, 2}, Shape{3, 32}, empty}) {
      EXPECT_TRUE(last_rows(empty, other).empty());
      EXPECT_TRUE(last_rows(other, empty).empty());
      EXPECT_TRUE(last_places(empty, other).empty());
      EXPECT_TRUE(last_places(other, empty).empty());
      EXPECT_TRUE(cells_in_use(empty, other).empty());
      EXPECT_TRUE(cells_in_use(other, empty).empty());
    }
  }
}

TEST(Arrangement, SaysWhereInTheWholeTensorADifferenceIs) {
  const std::vector<float> all = numbers(size_t{5} * 8, 1);
  std::vector<float> last(all.end() - 8, all.end());
  last[3] += 1;
  const Result<Difference> difference = compare_arranged(view_of(all, {5, 8}), view_of(last, {8}), last_rows({5, 8}, {8}).front(), {});
  ASSERT_TRUE(difference.ok());
  EXPECT_EQ(difference->first_differing, 35U);
  EXPECT_EQ(difference->max_abs_at, 35U);
}

TEST(Arrangement, FindsRotaryHalvesBesidePairs) {
  constexpr int64_t kHead = 16;
  const std::vector<float> halves = numbers(size_t{3} * 2 * kHead, 1);
  std::vector<float> pairs(halves.size());
  for (size_t i = 0; i < halves.size(); ++i) {
    const size_t in_head = i % kHead;
    pairs[i - in_head + in_head % 8 * 2 + in_head / 8] = halves[i];
  }
  const Shape shape({3, 2 * kHead});
  const TensorView a = view_of(pairs, shape);
  const TensorView b = view_of(halves, shape);
  EXPECT_TRUE(holds(a, b, rotary_orders(a, b)));
  EXPECT_TRUE(holds(b, a, rotary_orders(b, a)));
  const std::vector<float> other = numbers(halves.size(), 2);
  EXPECT_FALSE(holds(a, view_of(other, shape), rotary_orders(a, view_of(other, shape))));
}

TEST(Arrangement, FindsRotaryPairsWhereHeadsAndTokensHaveChangedPlaces) {
  constexpr size_t kTokens = 3;
  constexpr size_t kHeads = 2;
  constexpr size_t kHead = 16;
  const std::vector<float> halves = numbers(kHeads * kTokens * kHead, 1);  // [heads, tokens, head]
  std::vector<float> pairs(halves.size());                                 // [tokens, heads, head]
  for (size_t i = 0; i < halves.size(); ++i) {
    const size_t in_head = i % kHead;
    const size_t token = i / kHead % kTokens;
    const size_t head = i / kHead / kTokens;
    pairs[(token * kHeads + head) * kHead + in_head % 8 * 2 + in_head / 8] = halves[i];
  }
  const TensorView a = view_of(pairs, {kTokens, kHeads, kHead});
  const TensorView b = view_of(halves, {1, kHeads, kTokens, kHead});
  EXPECT_TRUE(holds(a, b, rotary_orders(a, b)));
  EXPECT_TRUE(holds(b, a, rotary_orders(b, a)));
  const TensorView other = view_of(pairs, {kHeads, kTokens, kHead});
  EXPECT_FALSE(holds(other, b, rotary_orders(other, b))) << "heads and tokens are where b has them";
}

// The scores of 2 heads for 3 tokens: 5 cells of a cache are in use, or the tensor has no more.
TEST(Arrangement, FindsTheCellsOfACacheThatAreInUse) {
  const std::vector<float> used = numbers(size_t{2} * 3 * 5, 1);
  std::vector<float> all = numbers(size_t{2} * 3 * 32, 2);
  for (size_t i = 0; i < used.size(); ++i) all[i / 5 * 32 + i % 5] = used[i];
  const TensorView a = view_of(all, {2, 3, 32});
  const TensorView b = view_of(used, {1, 2, 3, 5});
  EXPECT_TRUE(holds(a, b, first_cells(a.desc.shape, b.desc.shape)));
  EXPECT_TRUE(holds(b, a, first_cells(b.desc.shape, a.desc.shape)));
  all[33] = 0;
  const Result<Difference> difference = compare_arranged(a, b, first_cells(a.desc.shape, b.desc.shape).front(), {});
  ASSERT_TRUE(difference.ok());
  EXPECT_EQ(difference->differing, 1U);
  EXPECT_EQ(difference->compared, 30U);
  EXPECT_EQ(difference->first_differing, 33U) << "of the whole tensor of A";
}

TEST(Arrangement, FindsTheCellsOfACacheThatHasMovedOn) {
  const std::vector<float> used = numbers(size_t{2} * 3 * 5, 1);
  std::vector<float> all = numbers(size_t{2} * 3 * 32, 2);
  for (size_t i = 0; i < used.size(); ++i) all[i / 5 * 32 + 27 + i % 5] = used[i];
  const TensorView a = view_of(all, {2, 3, 32});
  const TensorView b = view_of(used, {2, 3, 5});
  EXPECT_FALSE(holds(a, b, first_cells(a.desc.shape, b.desc.shape)));
  EXPECT_TRUE(holds(a, b, cells_in_use(a.desc.shape, b.desc.shape)));
}

TEST(Arrangement, OfALargeCacheNotEveryCellIsTried) {
  EXPECT_EQ(first_cells({2, int64_t{1} << 50}, {2, 8}).size(), 1U);
  EXPECT_EQ(cells_in_use({2, int64_t{1} << 50}, {2, 8}).size(), 65'536U);
  EXPECT_EQ(cells_in_use({2, 64}, {2, 8}).size(), 57U);
}

TEST(Arrangement, CellsAreOfOneShapeAndOfWholePieces) {
  EXPECT_TRUE(first_cells({2, 3, 32}, {3, 2, 5}).empty());
  EXPECT_TRUE(first_cells({2, 3, 30}, {2, 3, 5}).empty()) << "no cache has 30 cells";
  EXPECT_TRUE(first_cells({2, 3, 32}, {2, 3, 32}).empty());
  EXPECT_TRUE(first_cells({32}, {5}).empty()) << "five numbers are the same by chance";
  EXPECT_TRUE(first_cells({2, 3, 32}, {2, 3, 0}).empty());
}

// Hidden states of 6 tokens and what a head makes of them; `wanted` of the last row only.
struct Decoder : MadeDump {
  explicit Decoder(bool wanted) {
    const std::vector<float> hidden = numbers(size_t{6} * 16, 1);
    const std::vector<float> logits = numbers(size_t{6} * 16, 2);
    op("hidden", "Neg");
    gives(0, hidden, {6, 16});
    if (wanted) gives(op("last", "Slice", {0}), {hidden.end() - 16, hidden.end()}, {1, 16});
    const OpId head = op("head", "Exp", {static_cast<OpId>(all_ops.size() - 1)});
    if (wanted) {
      gives(head, {logits.end() - 16, logits.end()}, {1, 16});
    } else {
      gives(head, logits, {6, 16});
    }
  }
};

TEST(Arrangement, APairOfWantedRowsHoldsWhereTheyAreTheSame) {
  const Decoder last(true);
  const Decoder all(false);
  for (const auto& [a, b] : {std::pair(&last, &all), std::pair(&all, &last)}) {
    auto comparison = DumpComparison::make(*a, *b, {});
    ASSERT_TRUE(comparison.ok());
    (*comparison)->run([](const ComparedValue&) {});
    EXPECT_FALSE((*comparison)->summary().outside());
    EXPECT_EQ((*comparison)->summary().paired, 2U);
    EXPECT_EQ((*comparison)->summary().results_b.paired, 1U);
  }
}

}  // namespace
}  // namespace tensortap
