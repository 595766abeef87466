// Reads the word that spells an operation's problem: "n8c64h56w56k64r3s3u1v1p1q1_relu". Benchmark
// cases, lines of problem files and reproducers use the same words.
//
//   word = [name] (shape | {letter number}) {"_" flag [numbers]}
//   shape, numbers = number {"x" number}
//
// A number of a flag may be infinite: "_maxinf", "_min-inf".
//
// An operation's file registers its parser, which reads the fields from a ProblemWord:
//
//   const ProblemRegistration kGemmProblem("gemm", ParseGemm);

#ifndef TOPDNN_KERNELS_OP_PROBLEM_H_
#define TOPDNN_KERNELS_OP_PROBLEM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// A problem that cannot be parsed or is not possible. One line: the word, what is wrong and what to
// write instead.
class ProblemError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ProblemWord {
 public:
  // Throws ProblemError when the text is not such a word. `names` are the names that may come first
  // ("max" of "maxn1c8...").
  explicit ProblemWord(std::string text, const std::vector<std::string_view>& names = {});

  const std::string& text() const { return text_; }
  const std::string& name() const { return name_; }
  // Throws ProblemError when the word has no shape.
  Shape shape() const;
  // The number of a letter. Throws ProblemError when the letter is missing.
  std::int64_t Field(char letter) const;
  std::int64_t FieldOr(char letter, std::int64_t otherwise) const;
  bool Has(char letter) const { return fields_.contains(letter); }
  // Whether the word contains "_flag" with or without numbers. This does not mark it as read.
  bool Has(std::string_view flag) const { return flags_.find(flag) != flags_.end(); }
  // Whether the word contains "_flag".
  bool Flag(std::string_view flag) const;
  // The number of "_flag0.5", or `otherwise` when the word has no such flag.
  float NumberOr(std::string_view flag, float otherwise) const;
  // The same for a whole number. Throws ProblemError for a fraction, and for a number that does not
  // fit an int.
  int WholeNumberOr(std::string_view flag, int otherwise) const;
  // The numbers of "_flag64x128". Throws ProblemError when there are none.
  std::vector<double> Numbers(std::string_view flag) const;
  // The same for whole numbers. Throws ProblemError for a fraction, and for a number whose absolute
  // value is above kMaxElements (extents.h).
  std::vector<std::int64_t> WholeNumbers(std::string_view flag) const;

  // Throws ProblemError for a field or flag that the parser has not read: it is unknown.
  void CheckAllRead() const;

 private:
  [[noreturn]] void Refuse(std::string_view why) const;
  double OneNumberOr(std::string_view flag, double otherwise) const;
  // A number of a flag. Throws ProblemError unless it is whole and from -most to most.
  std::int64_t Whole(std::string_view flag, double number, std::int64_t most) const;
  // Each function removes its part from the front of `rest`.
  std::int64_t ParseNumber(std::string_view& rest) const;
  void ParseShape(std::string_view& rest);
  void ParseField(std::string_view& rest);
  void ParseFlag(std::string_view& rest);

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

// The operation that "gemm/m64n64k64" spells. Throws ProblemError for an unknown operation, a
// malformed word, and impossible extents.
std::shared_ptr<const Op> ParseProblem(std::string_view text);

// The operation `kind` that the fields of a word spell. The parser of an operation that contains
// another one calls it. `kind` must have a parser.
std::shared_ptr<const Op> ParseFields(std::string_view kind, const ProblemWord& word);

// All operations whose problems can be parsed, sorted.
std::vector<std::string> ProblemKinds();

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OP_PROBLEM_H_
