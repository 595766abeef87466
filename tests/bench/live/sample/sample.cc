// A program with oneDNN for the tests of `topdnn trace --live`: its argument says what it does. It
// is a module as well, which is loaded with RTLD_DEEPBIND.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>
#include <thread>

// A reorder of 1,000 elements.
extern "C" void ExecutePrimitive() {
  using dnnl::memory;
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  dnnl::stream queue(cpu);
  const memory::desc from({10, 100}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc to({10, 100}, memory::data_type::f32, memory::format_tag::ba);
  memory source(from, cpu);
  memory target(to, cpu);
  dnnl::reorder(source, target).execute(queue, source, target);
  queue.wait();
}

namespace {

void Execute(int times) {
  for (int i = 0; i < times; ++i) ExecutePrimitive();
}

// 15 primitives in three processes and two threads, and text that is flushed in between.
int Fork() {
  std::printf("begin ");
  Execute(5);
  std::fflush(stdout);
  for (int child = 0; child < 2; ++child) {
    if (fork() != 0) continue;
    Execute(3);
    _exit(0);
  }
  while (wait(nullptr) > 0) {
  }
  std::thread later(Execute, 4);
  later.join();
  std::puts("end");
  return 7;
}

int Kill() {
  std::fclose(stdout);
  Execute(6);
  return raise(SIGKILL);
}

// Switches the log off, and prints oneDNN's version: 312.
int Quiet() {
  dnnl_set_verbose(0);
  Execute(4);
  std::printf("%d\n", dnnl_version()->major * 100 + dnnl_version()->minor);
  return 0;
}

int Overlap() {
  std::thread one(Execute, 20'000);
  std::thread other(Execute, 20'000);
  one.join();
  other.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "fork") return Fork();
  if (what == "kill") return Kill();
  if (what == "overlap") return Overlap();
  if (what == "quiet") return Quiet();
  Execute(2);
  return 0;
}
