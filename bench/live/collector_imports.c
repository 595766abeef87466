#define _GNU_SOURCE
#include "bench/live/collector_imports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOBAL_DATA = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOBAL_DATA = R_AARCH64_GLOB_DAT };
#else
enum { JUMP_SLOT = -1, GLOBAL_DATA = -1 }; /* nothing is replaced */
#endif

/* The page stays writable: which pages were read-only after relocation is not known here. */
static void Write(void** slot, void* function) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void* const begin = (void*)((uintptr_t)slot & ~(page - 1));
  if (*slot == function || mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return;
  *slot = function;
}

void ReplaceImports(const void* address, const struct Import* imports, unsigned count) {
  Dl_info info;
  struct link_map* module = NULL;
  if (!dladdr1(address, &info, (void**)&module, RTLD_DL_LINKMAP) || !module) return;
  const ElfW(Rela) * tables[2] = {NULL, NULL};
  size_t bytes[2] = {0, 0};
  const ElfW(Sym)* symbols = NULL;
  const char* names = NULL;
  for (const ElfW(Dyn)* entry = module->l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_JMPREL:
        tables[0] = (const void*)entry->d_un.d_ptr;
        break;
      case DT_PLTRELSZ:
        bytes[0] = entry->d_un.d_val;
        break;
      case DT_RELA:
        tables[1] = (const void*)entry->d_un.d_ptr;
        break;
      case DT_RELASZ:
        bytes[1] = entry->d_un.d_val;
        break;
      case DT_SYMTAB:
        symbols = (const void*)entry->d_un.d_ptr;
        break;
      case DT_STRTAB:
        names = (const void*)entry->d_un.d_ptr;
        break;
      default:
        break;
    }
  }
  if (!symbols || !names) return;
  for (int t = 0; t < 2; ++t) {
    for (size_t i = 0; tables[t] && i < bytes[t] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)* relocation = &tables[t][i];
      const int type = (int)ELF64_R_TYPE(relocation->r_info);
      if (type != JUMP_SLOT && type != GLOBAL_DATA) continue;
      const char* name = names + symbols[ELF64_R_SYM(relocation->r_info)].st_name;
      for (unsigned k = 0; k < count; ++k) {
        if (strcmp(name, imports[k].name) != 0) continue;
        Write((void**)(module->l_addr + relocation->r_offset), imports[k].function);
      }
    }
  }
}
