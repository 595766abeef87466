#include "datasets/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace topdnn {

namespace {

// Filled by registration objects before main, in any order; hence a function-local object.
std::vector<DatasetFormat>& TheFormats() {
  static std::vector<DatasetFormat> formats;
  return formats;
}

}  // namespace

DatasetFormatRegistration::DatasetFormatRegistration(DatasetFormat format) {
  auto& formats = TheFormats();
  const auto place = std::lower_bound(
      formats.begin(), formats.end(), format,
      [](const DatasetFormat& a, const DatasetFormat& b) { return a.name < b.name; });
  if (place != formats.end() && place->name == format.name) {
    throw std::logic_error(
        fmt::format("the data set format '{}' is registered twice", format.name));
  }
  formats.insert(place, std::move(format));
}

const std::vector<DatasetFormat>& DatasetFormats() { return TheFormats(); }

}  // namespace topdnn
