// Every function of the interface, used as a C program would; the first wrong answer ends it with its line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plimsoll.h"

#define CHECK(condition)                                          \
    do {                                                          \
        if (!(condition)) {                                       \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            exit(1);                                              \
        }                                                         \
    } while (0)

static void packs(void) {
    const uint64_t sizes[] = {64, 32, 64};
    const int64_t starts[] = {0, 1, 2}, ends[] = {2, 3, 4};
    uint64_t offsets[3];
    PlimsollPacking packing;
    CHECK(plimsoll_pack(3, sizes, starts, ends, NULL, offsets, &packing, NULL) == PLIMSOLL_CODE_OK);
    CHECK(packing.arena_bytes == 96 && packing.lower_bound_bytes == 96);
    CHECK(packing.status == PLIMSOLL_STATUS_OPTIMAL);
    CHECK(offsets[0] == offsets[2]);

    PlimsollPackOptions options = plimsoll_pack_options();
    options.capacity = 95;
    PlimsollError *error = NULL;
    CHECK(plimsoll_pack(3, sizes, starts, ends, &options, offsets, NULL, &error) == PLIMSOLL_CODE_NO);
    CHECK(strstr(plimsoll_error_message(error), "at least 96 bytes are needed") != NULL);
    plimsoll_error_free(error);
    options.effort = 9;
    CHECK(plimsoll_pack(3, sizes, starts, ends, &options, offsets, NULL, NULL) == PLIMSOLL_CODE_BAD_INPUT);
    CHECK(plimsoll_pack(3, NULL, starts, ends, NULL, offsets, NULL, NULL) == PLIMSOLL_CODE_BAD_INPUT);
    CHECK(plimsoll_pack(0, NULL, NULL, NULL, NULL, NULL, &packing, NULL) == PLIMSOLL_CODE_OK);
    CHECK(packing.arena_bytes == 0);
    const int64_t backwards[] = {-1, -1, -1};
    error = NULL;
    CHECK(plimsoll_pack(3, sizes, starts, backwards, NULL, offsets, NULL, &error) == PLIMSOLL_CODE_BAD_INPUT);
    CHECK(strlen(plimsoll_error_message(error)) > 0);
    plimsoll_error_free(error);
}

static uint32_t added(PlimsollProgram *program, PlimsollValue value) {
    uint32_t id = 99;
    CHECK(plimsoll_program_add_value(program, &value, &id, NULL) == PLIMSOLL_CODE_OK);
    return id;
}

// A step that reads one value and writes another.
static uint32_t step(PlimsollProgram *program, const char *name, uint32_t reads, uint32_t writes) {
    uint32_t id = 99;
    CHECK(plimsoll_program_add_step(program, name, 0, &id, NULL) == PLIMSOLL_CODE_OK);
    CHECK(plimsoll_program_read(program, id, reads, 0, 0, id, NULL) == PLIMSOLL_CODE_OK);
    CHECK(plimsoll_program_write(program, id, writes, 0, 0, id, NULL) == PLIMSOLL_CODE_OK);
    return id;
}

static void plans(void) {
    PlimsollProgram *program = plimsoll_program_new(PLIMSOLL_EXECUTION_IN_ORDER);
    PlimsollValue value = plimsoll_value(1024);
    value.role = PLIMSOLL_ROLE_INPUT;
    value.name = "x";
    uint32_t x = added(program, value);
    uint32_t hidden = added(program, plimsoll_value(4096));
    value = plimsoll_value(1024);
    value.view_of = hidden;
    value.view_offset = 2048;
    uint32_t part = added(program, value);
    value = plimsoll_value(4096);
    value.output = true;
    uint32_t y = added(program, value);
    uint32_t first = step(program, "grow", x, hidden);
    uint32_t second = step(program, "relu", hidden, y);
    CHECK(plimsoll_program_overwrite(program, second, y, hidden, false, NULL) == PLIMSOLL_CODE_OK);
    CHECK(plimsoll_program_scratch(program, first, 256, 64, NULL) == PLIMSOLL_CODE_OK);
    CHECK(plimsoll_program_after(program, second, first, NULL) == PLIMSOLL_CODE_OK);

    PlimsollPlan *plan = NULL;
    PlimsollError *error = NULL;
    PlimsollOptions options = plimsoll_options();
    options.order = PLIMSOLL_ORDER_BEST;
    PlimsollCode code = plimsoll_plan(program, &options, &plan, &error);
    if (code != PLIMSOLL_CODE_OK) fprintf(stderr, "%s\n", plimsoll_error_message(error));
    CHECK(code == PLIMSOLL_CODE_OK);
    CHECK(plimsoll_plan_arena_bytes(plan) == 4352);
    CHECK(plimsoll_plan_lower_bound_bytes(plan) == 4352);
    CHECK(plimsoll_plan_status(plan) == PLIMSOLL_STATUS_OPTIMAL);
    PlimsollPlacement of_hidden, of_part, of_y, of_x, scratch;
    CHECK(plimsoll_plan_place(plan, hidden, &of_hidden, NULL) == PLIMSOLL_CODE_OK);
    CHECK(plimsoll_plan_place(plan, part, &of_part, NULL) == PLIMSOLL_CODE_OK);
    CHECK(plimsoll_plan_place(plan, y, &of_y, NULL) == PLIMSOLL_CODE_OK);
    CHECK(plimsoll_plan_place(plan, x, &of_x, NULL) == PLIMSOLL_CODE_OK);
    CHECK(of_y.placed_in == PLIMSOLL_PLACED_IN_ARENA && of_y.offset == of_hidden.offset && of_y.bytes == 4096);
    CHECK(of_part.offset == of_hidden.offset + 2048 && of_part.bytes == 1024);
    CHECK(of_x.placed_in == PLIMSOLL_PLACED_IN_CALLER && of_x.root == x && of_x.offset == 0);
    CHECK(plimsoll_plan_scratch(plan, first, &scratch, NULL) == PLIMSOLL_CODE_OK && scratch.bytes == 256);
    CHECK(plimsoll_plan_scratch(plan, second, &scratch, NULL) == PLIMSOLL_CODE_NO);
    CHECK(plimsoll_plan_place(plan, 77, &of_x, NULL) == PLIMSOLL_CODE_BAD_INPUT);
    size_t count = 0;
    const uint32_t *schedule = plimsoll_plan_schedule(plan, &count);
    CHECK(count == 2 && schedule[0] == first && schedule[1] == second);
    CHECK(plimsoll_plan_verify(plan, NULL) == PLIMSOLL_CODE_OK);
    char *json = plimsoll_plan_json(plan);
    CHECK(strstr(json, "\"plimsoll.plan/1\"") != NULL && strstr(json, "\"relu\"") != NULL);
    plimsoll_string_free(json);
    plimsoll_plan_free(plan);

    options.capacity = 4095;
    CHECK(plimsoll_plan(program, &options, &plan, &error) == PLIMSOLL_CODE_NO);
    plimsoll_error_free(error);
    error = NULL;
    CHECK(plimsoll_program_read(program, second, 55, 0, 0, second, NULL) == PLIMSOLL_CODE_OK);
    CHECK(plimsoll_plan(program, NULL, &plan, &error) == PLIMSOLL_CODE_BAD_INPUT);
    CHECK(strstr(plimsoll_error_message(error), "55") != NULL);
    plimsoll_error_free(error);
    CHECK(plimsoll_program_read(program, 9, x, 0, 0, 9, NULL) == PLIMSOLL_CODE_BAD_INPUT);
    value.role = 17;
    CHECK(plimsoll_program_add_value(program, &value, NULL, NULL) == PLIMSOLL_CODE_BAD_INPUT);
    plimsoll_program_free(program);
    CHECK(plimsoll_program_new(7) == NULL);
    plimsoll_program_free(NULL);
    plimsoll_plan_free(NULL);
    plimsoll_error_free(NULL);
    plimsoll_string_free(NULL);
    CHECK(plimsoll_plan(NULL, NULL, &plan, NULL) == PLIMSOLL_CODE_BAD_INPUT);
}

int main(void) {
    packs();
    plans();
    puts("fine");
    return 0;
}
