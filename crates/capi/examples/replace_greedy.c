// A runtime that gives each tensor the first free offset, and the same tensors packed by Plimsoll.
#include <stdio.h>

#include "plimsoll.h"

enum { TENSORS = 5 };
static const uint64_t sizes[TENSORS] = {512, 1024, 512, 1024, 1024};
static const int64_t starts[TENSORS] = {0, 0, 0, 1, 1};
static const int64_t ends[TENSORS] = {1, 2, 1, 2, 3};

// What the runtime did before: tensors in order of birth, each behind all that it meets.
static uint64_t greedy(uint64_t *offsets) {
    uint64_t arena = 0;
    for (int i = 0; i < TENSORS; i++) {
        offsets[i] = 0;
        for (int j = 0; j < i; j++) {
            int meets = starts[i] < ends[j] && starts[j] < ends[i];
            if (meets && offsets[j] + sizes[j] > offsets[i]) offsets[i] = offsets[j] + sizes[j];
        }
        if (offsets[i] + sizes[i] > arena) arena = offsets[i] + sizes[i];
    }
    return arena;
}

int main(void) {
    uint64_t offsets[TENSORS];
    uint64_t before = greedy(offsets);
    PlimsollPacking packing;
    PlimsollError *error = NULL;
    if (plimsoll_pack(TENSORS, sizes, starts, ends, NULL, offsets, &packing, &error) != PLIMSOLL_CODE_OK) {
        fprintf(stderr, "%s\n", plimsoll_error_message(error));
        plimsoll_error_free(error);
        return 1;
    }
    const char *how = packing.status == PLIMSOLL_STATUS_OPTIMAL ? "no arena can be smaller" : "perhaps not the least";
    printf("greedy %llu bytes, plimsoll %llu bytes, %s\n", (unsigned long long)before,
           (unsigned long long)packing.arena_bytes, how);
    return 0;
}
