// /init of the emulated machine that runs a whole program: starts /topdnn with the arguments that
// follow `--` on the kernel's command line, prints the file /tmp/result.json and the exit status,
// and powers off.

#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void Print(const char* path) {
  FILE* file = fopen(path, "r");
  if (file == NULL) return;
  puts("MACHINE json");
  for (int c = getc(file); c != EOF; c = getc(file)) putchar(c);
  puts("\nMACHINE end");
  fclose(file);
}

int main(int argc, char** argv) {
  (void)argc;
  const char* const folders[] = {"/proc", "/sys", "/tmp", "/dev"};
  for (int i = 0; i < 4; ++i) mkdir(folders[i], 0755);
  mount("none", "/proc", "proc", 0, NULL);
  mount("none", "/sys", "sysfs", 0, NULL);
  mount("none", "/tmp", "tmpfs", 0, NULL);
  mount("none", "/dev", "devtmpfs", 0, NULL);
  setenv("HOME", "/tmp", 1);
  setenv("PATH", "/", 1);
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    argv[0] = "/topdnn";
    execv(argv[0], argv);
    perror("/topdnn");
    _exit(127);
  }
  waitpid(child, &status, 0);
  Print("/tmp/result.json");
  if (WIFEXITED(status)) {
    printf("MACHINE exit %d\n", WEXITSTATUS(status));
  } else {
    printf("MACHINE signal %d\n", WTERMSIG(status));
  }
  fflush(stdout);
  sync();
  reboot(RB_POWER_OFF);
  return 0;
}
