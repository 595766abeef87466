// A row of a log and the problem that it is, for parameterised tests.

#ifndef TOPDNN_TESTS_BENCH_TRANSLATED_CASE_H_
#define TOPDNN_TESTS_BENCH_TRANSLATED_CASE_H_

#include <iosfwd>
#include <string>

namespace topdnn {

struct TranslatedCase {
  std::string name;
  std::string fields;  // of the log's line, from the primitive to the problem
  std::string result;  // a part of what TranslateFields returns
};

// Prints the name. GoogleTest puts it into the names of the tests, which must be the same in every
// run.
void PrintTo(const TranslatedCase& one, std::ostream* out);

// What follows the name of a tensor in f32: (N, C, H, W) in blocks of 16 channels, and a row-major
// matrix.
inline const std::string kImageFields = "_f32::blocked:aBcd16b:f0 ";
inline const std::string kMatrixFields = "_f32::blocked:ab:f0 ";

// "conv/n2... forward type=f32 mode=train src=abcd", or the reason; for the primitive itself both.
std::string TranslateFields(const std::string& fields);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_BENCH_TRANSLATED_CASE_H_
