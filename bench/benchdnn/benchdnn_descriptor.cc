#include "bench/benchdnn/benchdnn_descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <system_error>

#include "harness/text/one_line.h"
#include "harness/text/parse_number.h"
#include "kernels/op/window.h"

namespace topdnn {

namespace {

// Sums and products of two of them fit 64 bits.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 30;
constexpr std::int64_t kDefaultMinibatch = 2;
constexpr std::size_t kMostShapes = 256;
constexpr std::size_t kMostRank = 12;

// The letters of a window along one dimension, the extent of the result first.
constexpr std::string_view kWindow = "oiksdp";

[[noreturn]] void Refuse(std::string_view text, std::string_view why) {
  throw BenchdnnError(fmt::format("the problem '{}' {}", OneLine(text), why));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

struct Names {
  std::vector<std::string_view> whole;
  std::vector<std::string_view> real;
};

const Names& NamesOf(DescriptorForm form) {
  if (form == DescriptorForm::kDeconvolution) form = DescriptorForm::kConvolution;
  static const std::map<DescriptorForm, Names> kNames = {
      {DescriptorForm::kConvolution,
       {{"g",  "mb", "ic", "oc", "id", "ih", "iw", "od", "oh", "ow", "kd",
         "kh", "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"},
        {}}},
      {DescriptorForm::kPooling,
       {{"mb", "ic", "id", "ih", "iw", "od", "oh", "ow", "kd", "kh",
         "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"},
        {}}},
      {DescriptorForm::kInnerProduct, {{"mb", "ic", "oc", "id", "ih", "iw"}, {}}},
      {DescriptorForm::kBatchNorm, {{"mb", "ic", "id", "ih", "iw"}, {"eps"}}},
      {DescriptorForm::kLrn, {{"mb", "ic", "id", "ih", "iw", "ls"}, {"alpha", "beta", "k"}}},
      {DescriptorForm::kResampling, {{"mb", "ic", "id", "ih", "iw", "od", "oh", "ow"}, {}}},
  };
  return kNames.at(form);
}

class Descriptor {
 public:
  Descriptor(std::string_view text, DescriptorForm form) : text_(text), form_(form) {
    std::string_view rest = text;
    while (!rest.empty()) {
      if (rest.front() == '_') {
        rest.remove_prefix(1);
      } else if (rest.front() == 'n') {
        TakeName(rest.substr(1));
        return;
      } else if (!TakeNumber(rest)) {
        Refuse(fmt::format("has the unknown part '{}'; see the driver's page of benchdnn",
                           OneLine(rest.substr(0, 20))));
      }
    }
  }

  const std::string& name() const { return name_; }
  bool Has(std::string_view name) const { return numbers_.find(name) != numbers_.end(); }
  std::int64_t Number(std::string_view name, std::int64_t otherwise) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? otherwise : found->second;
  }
  void Set(std::string_view name, std::int64_t number) { numbers_[std::string(name)] = number; }
  const std::map<std::string, std::string, std::less<>>& reals() const { return reals_; }

  // Throws BenchdnnError unless the number is above 0.
  std::int64_t Required(std::string_view name) const {
    const std::int64_t number = Number(name, 0);
    if (number < 1) Refuse(fmt::format("needs {} of 1 or more", name));
    return number;
  }

  // "ih28oh14": these letters of one dimension with their numbers, 0 for one that has none.
  std::string Spatial(std::string_view letters, char dimension) const {
    std::string text;
    for (const char letter : letters) {
      const std::string name{letter, dimension};
      text += fmt::format("{}{}", name, Number(name, 0));
    }
    return text;
  }

  [[noreturn]] void Refuse(std::string_view why) const { topdnn::Refuse(text_, why); }

 private:
  void TakeName(std::string_view name) {
    name_ = std::string(name);
    std::erase_if(name_, [](char c) { return c == '"' || c == '\''; });
  }

  bool TakeNumber(std::string_view& rest) {
    const Names& names = NamesOf(form_);
    for (const std::string_view name : names.whole) {
      if (!rest.starts_with(name) || rest.size() == name.size() || !IsDigit(rest[name.size()])) {
        continue;
      }
      rest.remove_prefix(name.size());
      const auto* const end = std::find_if_not(rest.begin(), rest.end(), IsDigit);
      const std::string_view digits(rest.begin(), static_cast<std::size_t>(end - rest.begin()));
      const std::optional<std::int64_t> number = ParseExtent(digits);
      if (!number) {
        Refuse(fmt::format("has {}{}; write a number up to {}", name, digits, kMostExtent));
      }
      numbers_[std::string(name)] = *number;
      rest.remove_prefix(digits.size());
      return true;
    }
    for (const std::string_view name : names.real) {
      if (!rest.starts_with(name)) continue;
      const std::string_view after = rest.substr(name.size());
      double value = 0;
      const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), value);
      if (error != std::errc() || !std::isfinite(value) || value < 0) continue;
      const auto length = static_cast<std::size_t>(end - after.data());
      reals_[std::string(name)] = after.substr(0, length);
      rest = after.substr(length);
      return true;
    }
    return false;
  }

  std::string_view text_;
  DescriptorForm form_;
  std::map<std::string, std::int64_t, std::less<>> numbers_;
  std::map<std::string, std::string, std::less<>> reals_;  // as written
  std::string name_;
};

// Computes the missing extent of the result, or else the missing padding, of every dimension that
// the text describes, and sets its default stride and dilation.
void CompleteWindow(bool transposed, Descriptor& d) {
  for (const char dimension : {'d', 'h', 'w'}) {
    const auto name = [dimension](char letter) { return std::string{letter, dimension}; };
    const auto described = [&](char letter) {
      const std::int64_t otherwise = letter == 's' ? 1 : 0;
      return d.Number(name(letter), otherwise) != otherwise;
    };
    if (std::none_of(kWindow.begin(), kWindow.end(), described)) continue;
    // A dimension without extents is that of the one above it, whatever else is said about it.
    const bool has_extents = described('i') || described('k') || described('o');
    if (!has_extents && dimension != 'd' && d.Number("ih", d.Number("id", 0)) > 0) continue;
    if (d.Number(name('s'), 1) < 1) {
      d.Refuse(fmt::format("needs a stride s{} of 1 or more", dimension));
    }
    const WindowExtents e{d.Required(name('i')), d.Required(name('k')), d.Number(name('s'), 1),
                          d.Number(name('d'), 0)};
    std::int64_t padding = d.Number(name('p'), 0);
    std::int64_t output = d.Number(name('o'), 0);
    if (output == 0) {
      output = transposed ? TransposedExtent(e.input, e.range(), e.stride, padding)
                          : ResultExtent(e, padding);
    } else if (!d.Has(name('p'))) {
      const WindowExtents over_result{output, e.kernel, e.stride, e.dilation};
      padding = transposed ? LeadingPadding(over_result, e.input) : LeadingPadding(e, output);
    }
    if (output < 1 || padding < 0) {
      d.Refuse(fmt::format("has no result along {}: input {}, kernel {}, dilation {}, padding {}",
                           dimension, e.input, e.kernel, e.dilation, padding));
    }
    d.Set(name('o'), output);
    d.Set(name('s'), e.stride);
    d.Set(name('d'), e.dilation);
    d.Set(name('p'), padding);
  }
}

// oneDNN refuses a convolution whose trailing padding is -stride or less:
// src/common/convolution.cpp and deconvolution.cpp require that the right padding plus the stride
// is above 0.
void CheckTrailingPadding(const Descriptor& d, bool transposed) {
  for (const char dimension : {'d', 'h', 'w'}) {
    const auto number = [&](char letter) { return d.Number(std::string{letter, dimension}, 0); };
    if (number('o') == 0) continue;
    const WindowExtents e{number(transposed ? 'o' : 'i'), number('k'), number('s'), number('d')};
    const std::int64_t windows = number(transposed ? 'i' : 'o');
    const std::int64_t trailing = (windows - 1) * e.stride + e.range() - e.input - number('p');
    if (trailing + e.stride > 0) continue;
    d.Refuse(fmt::format("contradicts itself: o{0} is {1}, and i{0} gives {2}; leave out o{0}",
                         dimension, number('o'),
                         transposed ? TransposedExtent(windows, e.range(), e.stride, number('p'))
                                    : ResultExtent(e, number('p'))));
  }
}

// Copies the numbers of the highest dimension to those that are left out: "ih5" is a square, "id5"
// a cube. Returns the number of dimensions. A dimension exists if the first of `letters` has a
// number above 0 in it.
int MakeSquare(std::string_view letters, Descriptor& d) {
  const auto exists = [&](char dimension) {
    return d.Number(std::string{letters.front(), dimension}, 0) > 0;
  };
  const auto copy = [&](char from, char to) {
    for (const char letter : letters) {
      d.Set(std::string{letter, to}, d.Number(std::string{letter, from}, 0));
    }
  };
  if (exists('d')) {
    if (exists('h') != exists('w')) d.Refuse("needs both h and w beside d, or none of them");
    if (!exists('h')) {
      copy('d', 'h');
      copy('d', 'w');
    }
    return 3;
  }
  if (exists('h')) {
    if (!exists('w')) copy('h', 'w');
    return 2;
  }
  return exists('w') ? 1 : 0;
}

// The numbers of the existing dimensions, each with the separator before it.
std::string SpatialText(const Descriptor& d, int spatial, std::string_view letters,
                        std::string_view separator) {
  std::string text;
  for (const char dimension :
       std::string_view("dhw").substr(static_cast<std::size_t>(3 - spatial))) {
    text.append(separator).append(d.Spatial(letters, dimension));
  }
  return text;
}

// As in the log: input, result, kernel, stride, dilation, padding.
constexpr std::string_view kLogWindow = "ioksdp";

}  // namespace

std::optional<std::int64_t> ParseExtent(std::string_view text) {
  const auto number = ParseNumber<std::int64_t>(text);
  return number >= 0 && number <= kMostExtent ? number : std::nullopt;
}

std::int64_t ResultExtent(const WindowExtents& e, std::int64_t padding) {
  return OutputExtent(e.input, padding, padding, e.kernel, e.stride, e.dilation + 1);
}

std::int64_t LeadingPadding(const WindowExtents& e, std::int64_t output) {
  return ((output - 1) * e.stride - e.input + e.range()) / 2;
}

std::int64_t TransposedExtent(std::int64_t input, std::int64_t range, std::int64_t stride,
                              std::int64_t padding) {
  return (input - 1) * stride + range - 2 * padding;
}

BenchdnnDescriptor ParseDescriptor(std::string_view text, DescriptorForm form,
                                   std::int64_t minibatch) {
  Descriptor d(text, form);
  BenchdnnDescriptor result;
  result.name = d.name();
  const std::int64_t mb = minibatch > 0 ? minibatch : d.Number("mb", kDefaultMinibatch);
  const std::int64_t ic = d.Required("ic");
  const bool transposed = form == DescriptorForm::kDeconvolution;
  const bool convolution = form == DescriptorForm::kConvolution || transposed;
  if (convolution || form == DescriptorForm::kPooling) {
    CompleteWindow(transposed, d);
    result.spatial = MakeSquare(kWindow, d);
    if (result.spatial == 0) d.Refuse("needs an image: ih, iw or id, with a kernel");
  }
  switch (form) {
    case DescriptorForm::kConvolution:
    case DescriptorForm::kDeconvolution: {
      CheckTrailingPadding(d, transposed);
      result.groups = d.Has("g") ? d.Required("g") : 1;
      const std::string groups = result.groups > 1 ? fmt::format("g{}", result.groups) : "";
      result.problem = fmt::format("{}mb{}_ic{}oc{}{}", groups, mb, ic, d.Required("oc"),
                                   SpatialText(d, result.spatial, kLogWindow, "_"));
      break;
    }
    case DescriptorForm::kPooling:
      result.problem =
          fmt::format("mb{}ic{}{}", mb, ic, SpatialText(d, result.spatial, kLogWindow, "_"));
      break;
    case DescriptorForm::kInnerProduct:
      result.spatial = MakeSquare("i", d);
      result.problem = fmt::format("mb{}ic{}{}oc{}", mb, ic,
                                   SpatialText(d, result.spatial, "i", ""), d.Required("oc"));
      break;
    case DescriptorForm::kBatchNorm:
    case DescriptorForm::kLrn:
      result.spatial = MakeSquare("i", d);
      result.problem = fmt::format("mb{}ic{}{}", mb, ic, SpatialText(d, result.spatial, "i", ""));
      if (form == DescriptorForm::kLrn) {
        constexpr std::int64_t kDefaultSize = 5;
        const auto real = [&d](std::string_view name, std::string_view otherwise) {
          const auto found = d.reals().find(name);
          return found == d.reals().end() ? std::string(otherwise) : found->second;
        };
        // The default of alpha is 1/8192.
        result.problem +=
            fmt::format("ls{}alpha{}beta{}k{}", d.Number("ls", kDefaultSize),
                        real("alpha", "0.0001220703125"), real("beta", "0.75"), real("k", "1"));
      }
      break;
    case DescriptorForm::kResampling:
      for (const char dimension : {'d', 'h', 'w'}) {
        if (d.Has(std::string{'i', dimension}) != d.Has(std::string{'o', dimension})) {
          d.Refuse(fmt::format("needs both i{0} and o{0}", dimension));
        }
      }
      result.spatial = MakeSquare("oi", d);
      if (result.spatial == 0) d.Refuse("needs an image: ih and oh");
      result.problem = fmt::format("mb{}ic{}{}", mb, ic, SpatialText(d, result.spatial, "io", "_"));
      break;
  }
  return result;
}

std::vector<std::vector<std::int64_t>> ParseShapes(std::string_view text, std::int64_t minibatch) {
  // A name follows the last extent: 8x8n"name", or 8x8_n"name".
  std::string_view rest = text.substr(0, text.find_first_of("n_"));
  std::vector<std::vector<std::int64_t>> shapes(1);
  while (true) {
    const std::string_view digits = rest.substr(0, rest.find_first_of("x:"));
    const std::optional<std::int64_t> extent = ParseExtent(digits);
    if (!extent || shapes.back().size() == kMostRank) {
      Refuse(text,
             fmt::format("is not a shape such as 2x16x28x28 with extents up to {}", kMostExtent));
    }
    shapes.back().push_back(*extent);
    rest.remove_prefix(digits.size());
    if (rest.empty()) break;
    if (rest.front() == ':') shapes.emplace_back();
    rest.remove_prefix(1);
    if (shapes.size() > kMostShapes) {
      Refuse(text, fmt::format("has more than {} shapes; give fewer", kMostShapes));
    }
  }
  if (minibatch > 0) {
    for (auto& shape : shapes) shape.front() = minibatch;
  }
  return shapes;
}

}  // namespace topdnn
