// Nothing: a precompiled header needs a file to be compiled with.
