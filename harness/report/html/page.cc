#include "harness/report/html/page.h"

#include <cstdint>
#include <map>
#include <stdexcept>

#include "harness/report/html/page_data.h"
#include "harness/report/html/page_texts.h"
#include "harness/report/json.h"
#include "harness/report/registry.h"
#include "harness/results/record.h"

namespace topdnn {

namespace {

unsigned DigitOf(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  throw std::invalid_argument("not a hexadecimal digit");
}

// Base64 (RFC 4648, section 4).
std::string Base64Of(std::string_view hexadecimal) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < hexadecimal.size(); at += 6) {
    // 6 hexadecimal digits are 3 bytes, and 4 digits of base 64.
    const std::string_view digits = hexadecimal.substr(at, 6);
    std::uint32_t bits = 0;
    for (const char c : digits) bits = bits << 4 | DigitOf(c);
    bits <<= 4 * (6 - digits.size());
    const std::size_t used = digits.size() * 4 / 6 + (digits.size() * 4 % 6 == 0 ? 0 : 1);
    for (std::size_t i = 0; i < 4; ++i) {
      text += i < used ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

// Replaces each @NAME@ of the skeleton. The values are not searched.
std::string Filled(std::string_view skeleton, const std::map<std::string, std::string>& values) {
  std::string text;
  while (true) {
    const std::size_t begin = skeleton.find('@');
    if (begin == std::string_view::npos) return text += skeleton;
    const std::size_t end = skeleton.find('@', begin + 1);
    text += skeleton.substr(0, begin);
    text += values.at(std::string(skeleton.substr(begin + 1, end - begin - 1)));
    skeleton.remove_prefix(end + 1);
  }
}

}  // namespace

std::string PolicyHash(std::string_view hexadecimal) {
  return "'sha256-" + Base64Of(hexadecimal) + "'";
}

std::string HtmlPage(const std::vector<nlohmann::ordered_json>& results) {
  const nlohmann::ordered_json data = {{"results", results}};
  return Filled(kPageSkeleton, {{"SCRIPT_HASH", PolicyHash(kPageScriptHash)},
                                {"STYLE_HASH", PolicyHash(kPageStyleHash)},
                                {"STYLE", kPageStyle},
                                {"SCRIPT", kPageScript},
                                {"DATA", JsonForScript(data)}});
}

namespace {

const ReportRegistration kHtml(FileReport{
    .name = "html",
    .help = "write the report to this file as an HTML page that needs no network",
    .text = [](const Report& report) { return HtmlPage({ProfileData(ToJson(report))}); }});

}  // namespace

}  // namespace topdnn
