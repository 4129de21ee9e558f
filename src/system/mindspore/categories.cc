#include "system/mindspore/categories.h"

#include <algorithm>
#include <array>

namespace tensortap::mindspore {
namespace {

// "negative zero count" and "positive zero count" count what is below and above zero: the names are MindSpore's.
constexpr std::array kCategories = {
    Category{"max", "max", "max", "", true, false},
    Category{"min", "min", "min", "", true, false},
    Category{"avg", "avg", "mean", "", true, false},
    Category{"count", "count", "", "", false, false},
    Category{"negative zero count", "negative zero count", "negative", "", false, false},
    Category{"positive zero count", "positive zero count", "positive", "", false, false},
    Category{"nan count", "nan count", "nan", "", false, false},
    Category{"negative inf count", "negative inf count", "neg_inf", "", false, false},
    Category{"positive inf count", "positive inf count", "pos_inf", "", false, false},
    Category{"zero count", "zero count", "zero", "", false, false},
    Category{"md5", "md5", "", "md5", false, false},
    Category{"l2norm", "l2norm", "l2", "", true, false},
    Category{"hash", "hash:sha1", "", "sha1", false, true},
    Category{"hash:sha1", "hash:sha1", "", "sha1", false, true},
    Category{"hash:md5", "md5", "", "md5", false, true},
};

}  // namespace

std::span<const Category> categories() { return kCategories; }

const Category* find_category(std::string_view item) {
  const auto* const found = std::ranges::find(kCategories, item, &Category::item);
  return found == kCategories.end() ? nullptr : found;
}

std::vector<std::string> default_categories() { return {"max", "min", "l2norm"}; }

}  // namespace tensortap::mindspore
