#include "bench/command_line/command_words.h"

#include <algorithm>

#include "harness/text/split_text.h"

namespace topdnn {

namespace {

bool IsPlain(char character) {
  constexpr std::string_view kOthers = "@%_+=:,./-";
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || kOthers.find(character) != kOthers.npos;
}

std::string QuotedWord(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return word;
  std::string quoted = "'";
  for (const char character : word) {
    if (character == '\'') {
      quoted += "'\\''";
    } else {
      quoted += character;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string JoinedWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + QuotedWord(word);
  return text;
}

std::optional<std::vector<std::string>> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (!quoted && character == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (character == '\'') {
      quoted = !quoted;
    } else if (!quoted && character == '\\' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += character;
    }
  }
  if (quoted) return std::nullopt;
  return words;
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  if (text.empty()) return {};
  const std::vector<std::string_view> parts = SplitText(text, ",");
  return {parts.begin(), parts.end()};
}

}  // namespace topdnn
