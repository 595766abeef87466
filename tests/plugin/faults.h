// The faults of the plug-in tests/plugin/hostile.c. Its kernel of an image whose width is i + 1 has
// the fault i, so that one process can try all of them. In C, because hostile.c includes it, too.

#ifndef TOPDNN_TESTS_PLUGIN_FAULTS_H_
#define TOPDNN_TESTS_PLUGIN_FAULTS_H_

static const char* const kKernelFaults[] = {
    "none",
    "refuse",
    "crash in create",
    "hang in create",
    "name no layout",
    "name the layout of a matrix",
    "fail in prepare",
    "crash",
    "abort",
    "exit",
    "be killed",
    "hang",
    "return an error",
    "write nothing",
    "write far behind",
    "write just behind",
    "write in front",
    "write its input",
    "return garbage",
    "be wrong the second time",
    "crash in destroy",
    "crash in load",
    "fail in load",
    "give a name that is no text",
    "read far behind",
    "read far in front",
    "hang later",
    "crash later",
    // in other operations than a flattening
    "copy in blocks",
    "write into the padding",
    "take logarithms",
};

enum { kKernelFaultCount = sizeof kKernelFaults / sizeof kKernelFaults[0] };

#endif  // TOPDNN_TESTS_PLUGIN_FAULTS_H_
