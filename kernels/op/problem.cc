#include "kernels/op/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "kernels/op/registrations.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

struct Spelling {
  ProblemParser parser;
  std::vector<std::string_view> names;
};

// By operation.
constinit Registrations<std::string, Spelling> spellings("problem parser");

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Names the place in the word where `rest` begins.
std::string PlaceOf(std::string_view rest) {
  return rest.empty() ? "at its end" : fmt::format("at '{}'", rest.substr(0, 8));
}

}  // namespace

void ProblemWord::Refuse(std::string_view why) const {
  throw ProblemError(fmt::format("problem '{}': {}", text_, why));
}

ProblemWord::ProblemWord(std::string text, const std::vector<std::string_view>& names)
    : text_(std::move(text)) {
  std::string_view rest = text_;
  for (const std::string_view name : names) {
    if (rest.starts_with(name) && name.size() > name_.size()) name_ = name;
  }
  rest.remove_prefix(name_.size());
  if (!rest.empty() && IsDigit(rest.front())) ParseShape(rest);
  while (!rest.empty() && rest.front() != '_') ParseField(rest);
  while (!rest.empty()) ParseFlag(rest);
}

std::int64_t ProblemWord::ParseNumber(std::string_view& rest) const {
  std::int64_t value = 0;
  const char* const last = rest.data() + rest.size();
  const auto [end, error] = std::from_chars(rest.data(), last, value);
  if (error != std::errc() || value < 0) {
    Refuse("expected a number " + PlaceOf(rest));
  }
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

void ProblemWord::ParseShape(std::string_view& rest) {
  shape_.push_back(ParseNumber(rest));
  while (rest.starts_with('x')) {
    rest.remove_prefix(1);
    shape_.push_back(ParseNumber(rest));
  }
}

void ProblemWord::ParseField(std::string_view& rest) {
  const char letter = rest.front();
  if (!IsLetter(letter)) Refuse("expected a letter " + PlaceOf(rest));
  rest.remove_prefix(1);
  if (!fields_.emplace(letter, ParseNumber(rest)).second) {
    Refuse(fmt::format("duplicate field '{}'", letter));
  }
}

void ProblemWord::ParseFlag(std::string_view& rest) {
  rest.remove_prefix(1);  // '_'
  const std::string_view part = rest.substr(0, rest.find('_'));
  rest.remove_prefix(part.size());
  const auto* at = std::find_if_not(part.begin(), part.end(), IsLetter);
  // The letters of "_maxinf" are the name "max" and a number. No flag's name ends with "inf".
  constexpr std::string_view kInfinity = "inf";
  const auto letters = static_cast<std::size_t>(at - part.begin());
  if (part.substr(0, letters).ends_with(kInfinity)) at -= kInfinity.size();
  const std::string flag(part.begin(), at);
  std::vector<double> numbers;
  while (at != part.end()) {
    double number = 0;
    const auto [end, error] = std::from_chars(at, part.end(), number);
    if (error != std::errc() || (end != part.end() && (*end != 'x' || end + 1 == part.end()))) {
      Refuse(fmt::format("malformed flag '_{}', expected '_name' or '_name2x2'", part));
    }
    numbers.push_back(number);
    at = end == part.end() ? end : end + 1;
  }
  if (flag.empty()) {
    Refuse(fmt::format("malformed flag '_{}', expected '_name' or '_name2x2'", part));
  }
  if (!flags_.emplace(flag, std::move(numbers)).second) {
    Refuse(fmt::format("duplicate flag '_{}'", flag));
  }
}

Shape ProblemWord::shape() const {
  read_.emplace("shape");
  if (shape_.empty()) Refuse("missing shape, such as 8x64x56x56");
  return Shape(shape_);
}

std::int64_t ProblemWord::Field(char letter) const {
  read_.emplace(1, letter);
  const auto found = fields_.find(letter);
  if (found == fields_.end()) Refuse(fmt::format("missing field '{}' with its number", letter));
  return found->second;
}

std::int64_t ProblemWord::FieldOr(char letter, std::int64_t otherwise) const {
  read_.emplace(1, letter);
  return Has(letter) ? Field(letter) : otherwise;
}

bool ProblemWord::Flag(std::string_view flag) const {
  read_.insert(fmt::format("_{}", flag));
  const auto found = flags_.find(flag);
  if (found == flags_.end()) return false;
  if (!found->second.empty()) Refuse(fmt::format("flag '_{}' takes no number", flag));
  return true;
}

double ProblemWord::OneNumberOr(std::string_view flag, double otherwise) const {
  read_.insert(fmt::format("_{}", flag));
  const auto found = flags_.find(flag);
  if (found == flags_.end()) return otherwise;
  if (found->second.size() != 1) Refuse(fmt::format("flag '_{}' needs one number", flag));
  return found->second.front();
}

std::int64_t ProblemWord::Whole(std::string_view flag, double number, std::int64_t most) const {
  const bool fits = std::abs(number) <= static_cast<double>(most);  // false for NaN
  if (!fits || number != std::floor(number)) {
    Refuse(fmt::format("flag '_{}' has the number {}, write a whole number from {} to {}", flag,
                       number, -most, most));
  }
  return static_cast<std::int64_t>(number);
}

float ProblemWord::NumberOr(std::string_view flag, float otherwise) const {
  return static_cast<float>(OneNumberOr(flag, static_cast<double>(otherwise)));
}

int ProblemWord::WholeNumberOr(std::string_view flag, int otherwise) const {
  const double number = OneNumberOr(flag, otherwise);
  return static_cast<int>(Whole(flag, number, std::numeric_limits<int>::max()));
}

std::vector<double> ProblemWord::Numbers(std::string_view flag) const {
  read_.insert(fmt::format("_{}", flag));
  const auto found = flags_.find(flag);
  if (found == flags_.end() || found->second.empty()) {
    Refuse(fmt::format("missing flag '_{}' with its numbers", flag));
  }
  return found->second;
}

std::vector<std::int64_t> ProblemWord::WholeNumbers(std::string_view flag) const {
  std::vector<std::int64_t> whole;
  for (const double number : Numbers(flag)) whole.push_back(Whole(flag, number, kMaxElements));
  return whole;
}

void ProblemWord::CheckAllRead() const {
  if (!shape_.empty() && !read_.contains("shape")) {
    Refuse("unexpected shape, this operation has named extents");
  }
  for (const auto& [letter, value] : fields_) {
    if (!read_.contains(std::string(1, letter))) Refuse(fmt::format("unknown field '{}'", letter));
  }
  for (const auto& [flag, value] : flags_) {
    if (!read_.contains("_" + flag)) Refuse(fmt::format("unknown flag '_{}'", flag));
  }
}

ProblemRegistration::ProblemRegistration(std::string_view kind, ProblemParser parser,
                                         std::vector<std::string_view> names) {
  spellings.Add(std::string(kind), {parser, std::move(names)});
}

std::shared_ptr<const Op> ParseProblem(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view kind = text.substr(0, slash);
  const Spelling* spelling = spellings.Find(kind);
  if (slash == std::string_view::npos || spelling == nullptr) {
    throw ProblemError(
        fmt::format("problem '{}': expected OPERATION/EXTENTS, such as "
                    "gemm/m64n64k64; the operations are {}",
                    text, fmt::join(ProblemKinds(), ", ")));
  }
  try {
    const ProblemWord word(std::string(text.substr(slash + 1)), spelling->names);
    std::shared_ptr<const Op> op = spelling->parser(word);
    word.CheckAllRead();
    return op;
  } catch (const std::invalid_argument& error) {
    throw ProblemError(fmt::format("problem '{}': {}", text, error.what()));
  } catch (const std::overflow_error& error) {
    throw ProblemError(fmt::format("problem '{}': {}", text, error.what()));
  }
}

std::shared_ptr<const Op> ParseFields(std::string_view kind, const ProblemWord& word) {
  return spellings.Find(kind)->parser(word);
}

std::vector<std::string> ProblemKinds() { return spellings.Keys(); }

}  // namespace topdnn
