// The script, the style and the skeleton of the HTML report, which the build compiles into the
// program (cmake/PageTexts.cmake) so that it needs no files at run time.

#ifndef TOPDNN_HARNESS_REPORT_HTML_PAGE_TEXTS_H_
#define TOPDNN_HARNESS_REPORT_HTML_PAGE_TEXTS_H_

namespace topdnn {

extern const char* const kPageScript;
extern const char* const kPageStyle;
extern const char* const kPageSkeleton;    // with @STYLE@, @SCRIPT@, @DATA@, ... to replace
extern const char* const kPageScriptHash;  // SHA-256 in hexadecimal digits
extern const char* const kPageStyleHash;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_HTML_PAGE_TEXTS_H_
