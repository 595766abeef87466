#include "bench/live/collector_itt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

struct IttDomain* MakeDomain(const char* name) {
  static struct IttDomain* domains;
  if (!name) return NULL;
  pthread_mutex_lock(&names_lock);
  struct IttDomain* domain = domains;
  while (domain && strcmp(domain->name, name) != 0) domain = domain->next;
  if (!domain && (domain = calloc(1, sizeof *domain))) {
    domain->flags = strncmp(name, "dnnl::", 6) == 0 || strcmp(name, "PyTorch") == 0;
    domain->name = strdup(name);
    domain->next = domains;
    domains = domain;
  }
  pthread_mutex_unlock(&names_lock);
  return domain;
}

struct IttHandle* MakeHandle(const char* name) {
  enum { kLists = 1024 };
  static struct IttHandle* lists[kLists];
  if (!name) return NULL;
  unsigned hash = 5381;
  for (const char* c = name; *c; ++c) hash = hash * 33 ^ (unsigned char)*c;
  pthread_mutex_lock(&names_lock);
  struct IttHandle** list = &lists[hash % kLists];
  struct IttHandle* handle = *list;
  while (handle && strcmp(handle->name, name) != 0) handle = handle->next;
  if (!handle && (handle = calloc(1, sizeof *handle))) {
    handle->name = strdup(name);
    handle->next = *list;
    *list = handle;
  }
  pthread_mutex_unlock(&names_lock);
  return handle;
}

void RenewNamesLock(void) {
  static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  names_lock = fresh;
}
