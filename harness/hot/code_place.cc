#include "harness/hot/code_place.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "harness/files/small_file.h"

namespace topdnn {

namespace {

constexpr std::size_t kLongestName = 70;  // characters of a name

// A part of the file as an array; empty if it is not in the file.
template <class T>
std::vector<T> TableAt(const std::string& file, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > file.size() || bytes > file.size() - offset) return {};
  std::vector<T> table(bytes / sizeof(T));
  std::memcpy(table.data(), file.data() + offset, table.size() * sizeof(T));
  return table;
}

void AddFunctions(const std::string& file, const std::vector<Elf64_Shdr>& sections,
                  const Elf64_Shdr& symbols, std::vector<CodeSymbol>& functions) {
  if (symbols.sh_link >= sections.size()) return;
  const Elf64_Shdr& strings = sections[symbols.sh_link];
  const auto names = TableAt<char>(file, strings.sh_offset, strings.sh_size);
  for (const auto& symbol : TableAt<Elf64_Sym>(file, symbols.sh_offset, symbols.sh_size)) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
        symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || symbol.st_name >= names.size()) {
      continue;
    }
    const char* const name = &names[symbol.st_name];
    functions.push_back({symbol.st_value, symbol.st_size,
                         std::string(name, strnlen(name, names.size() - symbol.st_name))});
  }
}

// The last symbol that starts at or before the address and holds it. Assembly code often has no
// size: then up to the next symbol.
const CodeSymbol* SymbolAt(const std::vector<CodeSymbol>& symbols, std::uint64_t address) {
  auto after = std::upper_bound(symbols.begin(), symbols.end(), address,
                                [](std::uint64_t a, const CodeSymbol& s) { return a < s.start; });
  const CodeSymbol* unsized = nullptr;
  for (int k = 0; k < 8 && after != symbols.begin(); ++k) {
    --after;
    if (after->size == 0 && unsized == nullptr) unsized = &*after;
    if (address - after->start < after->size) return &*after;
  }
  return unsized;
}

void Sort(std::vector<CodeSymbol>& symbols) {
  std::stable_sort(symbols.begin(), symbols.end(),
                   [](const CodeSymbol& a, const CodeSymbol& b) { return a.start < b.start; });
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string Placed(const std::string& name, std::uint64_t offset) {
  return fmt::format(
      "{}+{:#x}", name.size() > kLongestName ? name.substr(0, kLongestName) + "..." : name, offset);
}

}  // namespace

std::vector<CodeSymbol> ReadPerfMap(std::string_view text) {
  std::vector<CodeSymbol> symbols;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    CodeSymbol symbol;
    if (!(fields >> std::hex >> symbol.start >> symbol.size)) continue;
    std::getline(fields >> std::ws, symbol.name);
    // (memory that was used again: the last entry holds)
    std::erase_if(symbols, [&](const CodeSymbol& old) {
      return old.start == symbol.start ||
             (old.start < symbol.start + symbol.size && symbol.start < old.start + old.size);
    });
    if (!symbol.name.empty()) symbols.push_back(std::move(symbol));
  }
  Sort(symbols);
  return symbols;
}

std::vector<CodeSymbol> ReadElfFunctions(const std::string& path) {
  constexpr std::size_t kMaxElfBytes = std::size_t{1} << 30;
  const std::string file = ReadSmallFile(path, kMaxElfBytes).text;
  const auto headers = TableAt<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr));
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_ident[EI_CLASS] != ELFCLASS64 || headers[0].e_shentsize != sizeof(Elf64_Shdr)) {
    return {};
  }
  const auto sections = TableAt<Elf64_Shdr>(file, headers[0].e_shoff,
                                            std::uint64_t{headers[0].e_shnum} * sizeof(Elf64_Shdr));
  std::vector<CodeSymbol> functions;
  for (const auto type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == static_cast<Elf64_Word>(type) && functions.empty()) {
        AddFunctions(file, sections, section, functions);
      }
    }
  }
  Sort(functions);
  return functions;
}

std::string ShortFunctionName(const std::string& symbol) {
  int status = 0;
  const std::string mangled = symbol.substr(0, symbol.find('.'));
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return symbol;
  std::string name = text.get();
  // The parameters are the last parentheses; what follows them is `const` or an ABI tag.
  const std::size_t close = name.rfind(')');
  if (close == std::string::npos) return name;
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
    if (depth == 0) return at == 0 ? name : name.substr(0, at);
  }
  return name;
}

std::string CodePlaces::Of(std::uint64_t address) {
  if (const CodeSymbol* jit = SymbolAt(jit_, address); jit != nullptr && jit->size > 0) {
    return "JIT " + Placed(jit->name, address - jit->start);
  }
  Dl_info info = {};
  link_map* map = nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of code
  const auto* code = reinterpret_cast<const void*>(address);
  if (dladdr1(code, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      info.dli_fname == nullptr || map == nullptr) {
    return fmt::format("JIT code at {:#x}", address);
  }
  const bool program = map->l_name == nullptr || *map->l_name == '\0';
  const std::string path = program ? "/proc/self/exe" : map->l_name;
  const std::string file = FileName(program ? info.dli_fname : path.c_str());
  auto found = functions_.find(path);
  if (found == functions_.end()) found = functions_.emplace(path, ReadElfFunctions(path)).first;
  const std::uint64_t offset = address - map->l_addr;
  const CodeSymbol* symbol = SymbolAt(found->second, offset);
  if (symbol == nullptr) return fmt::format("{}+{:#x}", file, offset);
  return file + "!" + Placed(ShortFunctionName(symbol->name), offset - symbol->start);
}

}  // namespace topdnn
