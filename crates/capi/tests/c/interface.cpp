// The same in C++.
#include "interface.c"
