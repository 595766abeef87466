// The word that spells an operation's problem, read back: "n8c64h56w56k64r3s3u1v1p1q1_relu". A case
// of a benchmark, a line of a problem file and a reproducer are the same words.
//
//   word = [name] (shape | {letter number}) {"_" flag [numbers]}
//   shape, numbers = number {"x" number}
//
// An operation's file announces its parser, which asks a ProblemWord for its fields:
//
//   const ProblemRegistration kProblem("gemm", ParseGemm);

#ifndef TOPDNN_KERNELS_PROBLEM_H_
#define TOPDNN_KERNELS_PROBLEM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op.h"

namespace topdnn {

// A problem that cannot be read or cannot be: one line with the word, what is wrong and what would
// be right.
class ProblemError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ProblemWord {
 public:
  // Throws ProblemError when the text is no such word. `names` are the names that may stand in
  // front ("max" of "maxn1c8...").
  explicit ProblemWord(std::string text, const std::vector<std::string_view>& names = {});

  const std::string& text() const { return text_; }
  const std::string& name() const { return name_; }
  // Throws ProblemError when the word has none.
  Shape shape() const;
  // Of a letter; throws ProblemError when there is none.
  std::int64_t Field(char letter) const;
  std::int64_t FieldOr(char letter, std::int64_t otherwise) const;
  bool Has(char letter) const { return fields_.contains(letter); }
  // Whether "_flag" stands in the word.
  bool Flag(std::string_view flag) const;
  // The number of "_flag0.5".
  float NumberOr(std::string_view flag, float otherwise) const;
  // The numbers of "_flag64x128"; throws ProblemError when there are none.
  std::vector<double> Numbers(std::string_view flag) const;

  // Throws ProblemError for a field or flag that nobody has asked for.
  void CheckAllRead() const;

 private:
  [[noreturn]] void Refuse(std::string_view why) const;
  // Each takes its part from the front of `rest`.
  std::int64_t TakeNumber(std::string_view& rest) const;
  void TakeShape(std::string_view& rest);
  void TakeField(std::string_view& rest);
  void TakeFlag(std::string_view& rest);

  std::string text_;
  std::string name_;
  std::vector<std::int64_t> shape_;
  std::map<char, std::int64_t> fields_;
  std::map<std::string, std::vector<double>, std::less<>> flags_;
  mutable std::set<std::string, std::less<>> read_;
};

using ProblemParser = std::shared_ptr<const Op> (*)(const ProblemWord& word);

class ProblemRegistration {
 public:
  ProblemRegistration(std::string_view kind, ProblemParser parser,
                      std::vector<std::string_view> names = {});
};

// The operation that "gemm/m64n64k64" spells. Throws ProblemError for an unknown operation, a word
// that cannot be read, and extents that cannot be.
std::shared_ptr<const Op> ParseProblem(std::string_view text);

// Every operation whose problems can be read, sorted.
std::vector<std::string> ProblemKinds();

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_PROBLEM_H_
