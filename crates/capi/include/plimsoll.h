// The C interface of Plimsoll, which plans the memory of tensor programs.
//
// Handles are opaque, and freed by the function that is named for it. A function that can fail returns a
// PlimsollCode and takes a place for an error, which may be NULL. Nothing here has state of its own: handles may be
// used by any thread, each by one thread at a time; plans may be read by several at once.

#ifndef PLIMSOLL_H
#define PLIMSOLL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
// No value, no step, or the end of a run, where one of these could be.
#define PLIMSOLL_NOTHING UINT32_MAX

// How a call ended.
typedef enum PlimsollCode {
  // Done.
  PLIMSOLL_CODE_OK = 0,
  // The answer is no: it does not fit, or a plan is not valid.
  PLIMSOLL_CODE_NO = 1,
  // An argument is wrong; the message says which.
  PLIMSOLL_CODE_BAD_INPUT = 2,
  // A fault of this library; the message says where.
  PLIMSOLL_CODE_INTERNAL = 3,
} PlimsollCode;

// How good an answer is known to be.
typedef enum PlimsollStatus {
  // No arena can be smaller.
  PLIMSOLL_STATUS_OPTIMAL = 0,
  // Valid; whether a smaller one exists is not known.
  PLIMSOLL_STATUS_FEASIBLE = 1,
} PlimsollStatus;

// Where a value is.
typedef enum PlimsollPlacedIn {
  // In the arena, at an offset.
  PLIMSOLL_PLACED_IN_ARENA = 0,
  // In the caller's memory: in that of the value `root`, at an offset.
  PLIMSOLL_PLACED_IN_CALLER = 1,
} PlimsollPlacedIn;

// How long to search.
typedef enum PlimsollEffort {
  // Greedy rules alone.
  PLIMSOLL_EFFORT_FAST = 0,
  // A second or two at most.
  PLIMSOLL_EFFORT_DEFAULT = 1,
  // A minute or so.
  PLIMSOLL_EFFORT_HIGH = 2,
  // Until it is proven that nothing is smaller, however long that takes.
  PLIMSOLL_EFFORT_EXHAUSTIVE = 3,
} PlimsollEffort;

// In which order steps run.
typedef enum PlimsollOrder {
  // That in which they were declared.
  PLIMSOLL_ORDER_GIVEN = 0,
  // The best that rules find.
  PLIMSOLL_ORDER_FAST = 1,
  // The best that search finds, never worse than the given one.
  PLIMSOLL_ORDER_BEST = 2,
} PlimsollOrder;

// In which order steps run.
typedef enum PlimsollExecution {
  // One after another.
  PLIMSOLL_EXECUTION_IN_ORDER = 0,
  // Whenever what they read has been written and what they are after is over.
  PLIMSOLL_EXECUTION_PARTIAL = 1,
  // Each on its queue, and after the steps that it waits for.
  PLIMSOLL_EXECUTION_QUEUES = 2,
} PlimsollExecution;

// Who makes a value.
typedef enum PlimsollRole {
  // A step.
  PLIMSOLL_ROLE_TEMPORARY = 0,
  // The caller, before every run.
  PLIMSOLL_ROLE_INPUT = 1,
  // Whoever loads the model, once: a weight.
  PLIMSOLL_ROLE_PARAM = 2,
  // Whoever loads the model, once: a constant.
  PLIMSOLL_ROLE_CONSTANT = 3,
} PlimsollRole;

// Where a value lives.
typedef enum PlimsollStorage {
  // In the arena; what comes from outside only if the options place it there.
  PLIMSOLL_STORAGE_ARENA = 0,
  // In the arena, in bytes of its own: it survives from run to run.
  PLIMSOLL_STORAGE_PERSISTENT = 1,
  // In the caller's memory.
  PLIMSOLL_STORAGE_EXTERNAL = 2,
} PlimsollStorage;

// What went wrong.
typedef struct PlimsollError PlimsollError;

// A verified plan, with the program that it is for.
typedef struct PlimsollPlan PlimsollPlan;

// A program that is being declared.
typedef struct PlimsollProgram PlimsollProgram;

// How to plan.
typedef struct PlimsollOptions {
  // What offsets are multiples of, where a value does not say; at least 1.
  uint64_t align;
  // Whether inputs get a place in the arena; otherwise they are the caller's memory.
  bool place_inputs;
  // Whether params and constants do.
  bool place_params;
  // Whether outputs do.
  bool place_outputs;
  // Whether outputs may take over the bytes of inputs where steps allow it.
  bool in_place;
  // How large the arena may be; 0 if there is no limit.
  uint64_t capacity;
  // In which order steps run: a `PlimsollOrder`.
  uint32_t order;
  // How long to search for a packing: a `PlimsollEffort`.
  uint32_t effort;
} PlimsollOptions;

// How to pack.
typedef struct PlimsollPackOptions {
  // What every offset is a multiple of; at least 1.
  uint64_t align;
  // How large the arena may be; 0 if there is no limit.
  uint64_t capacity;
  // How long to search: a `PlimsollEffort`.
  uint32_t effort;
} PlimsollPackOptions;

// What came of packing.
typedef struct PlimsollPacking {
  // The size of the arena.
  uint64_t arena_bytes;
  // No arena can be smaller than this.
  uint64_t lower_bound_bytes;
  // How good the packing is known to be.
  enum PlimsollStatus status;
} PlimsollPacking;

// The place of a value or of scratch memory.
typedef struct PlimsollPlacement {
  // In which memory.
  enum PlimsollPlacedIn placed_in;
  // The first byte.
  uint64_t offset;
  // How many bytes.
  uint64_t bytes;
  // In the caller's memory: the value that it is a part of, which may be itself; else `PLIMSOLL_NOTHING`.
  uint32_t root;
} PlimsollPlacement;

// What is known of a value. Start from `plimsoll_value`.
typedef struct PlimsollValue {
  // Its size; 0 is allowed.
  uint64_t bytes;
  // What its offset must be a multiple of; 0 for the default of the plan.
  uint64_t align;
  // Bytes behind its end that whoever writes it may write too.
  uint64_t guard;
  // Who makes it: a `PlimsollRole`.
  uint32_t role;
  // Where it lives: a `PlimsollStorage`.
  uint32_t storage;
  // The value whose bytes it is a part of; `PLIMSOLL_NOTHING` if it is no view.
  uint32_t view_of;
  // The first byte in that value.
  uint64_t view_offset;
  // Whether it must be there, unchanged, when the run is over.
  bool output;
  // Whether a value from outside may be overwritten once it is no longer needed.
  bool donated;
  // What to call it in messages, or NULL.
  const char *name;
} PlimsollValue;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The message of an error, in UTF-8, as long as the error is there; NULL for NULL.
//
// # Safety
// `error` is null or an error that was not freed.
const char *plimsoll_error_message(const struct PlimsollError *error);

// Frees an error; NULL is fine.
//
// # Safety
// `error` is null or an error that was not freed.
void plimsoll_error_free(struct PlimsollError *error);

// The defaults: alignment 64, outputs in the arena, in place, the declared order.
struct PlimsollOptions plimsoll_options(void);

// The defaults: offsets at any byte, no limit.
struct PlimsollPackOptions plimsoll_pack_options(void);

// Packs `count` buffers: buffer i takes `sizes[i]` bytes during the half-open time
// `[starts[i], ends[i])`. Writes an offset for each to `offsets`, and the totals to `packing`.
// `PLIMSOLL_CODE_NO` if it does not fit the capacity; then nothing is written.
//
// # Safety
// `sizes`, `starts` and `ends` can be read and `offsets` written, `count` elements each (they may be null if
// `count` is 0); `options` is null for the defaults or can be read; `packing` and `error` are null or can be written.
enum PlimsollCode plimsoll_pack(size_t count,
                                const uint64_t *sizes,
                                const int64_t *starts,
                                const int64_t *ends,
                                const struct PlimsollPackOptions *options,
                                uint64_t *offsets,
                                struct PlimsollPacking *packing,
                                struct PlimsollError **error);

// Plans a program, verifies the plan, and writes it to `plan`. The program is copied, and can be changed or freed
// afterwards. `PLIMSOLL_CODE_NO` if it does not fit the capacity.
//
// # Safety
// `program` is a program; `options` is null for the defaults or can be read; `plan` can be written; `error` is null
// or can be written.
enum PlimsollCode plimsoll_plan(const struct PlimsollProgram *program,
                                const struct PlimsollOptions *options,
                                struct PlimsollPlan **plan,
                                struct PlimsollError **error);

// Frees a plan; NULL is fine.
//
// # Safety
// `plan` is null or a plan that was not freed.
void plimsoll_plan_free(struct PlimsollPlan *plan);

// The bytes of the arena; 0 for NULL.
//
// # Safety
// `plan` is null or a plan.
uint64_t plimsoll_plan_arena_bytes(const struct PlimsollPlan *plan);

// Below this no arena can be, in this order and with this sharing; 0 for NULL.
//
// # Safety
// `plan` is null or a plan.
uint64_t plimsoll_plan_lower_bound_bytes(const struct PlimsollPlan *plan);

// How good the plan is known to be, in this order and with this sharing.
//
// # Safety
// `plan` is null or a plan.
enum PlimsollStatus plimsoll_plan_status(const struct PlimsollPlan *plan);

// Writes where a value is to `placement`. `PLIMSOLL_CODE_NO` if it has no bytes.
//
// # Safety
// `plan` is a plan, `placement` can be written; `error` is null or can be written.
enum PlimsollCode plimsoll_plan_place(const struct PlimsollPlan *plan,
                                      uint32_t value,
                                      struct PlimsollPlacement *placement,
                                      struct PlimsollError **error);

// Writes where the scratch memory of a step is to `placement`. `PLIMSOLL_CODE_NO` if it has none.
//
// # Safety
// `plan` is a plan, `placement` can be written; `error` is null or can be written.
enum PlimsollCode plimsoll_plan_scratch(const struct PlimsollPlan *plan,
                                        uint32_t step,
                                        struct PlimsollPlacement *placement,
                                        struct PlimsollError **error);

// The steps in order of execution, as many as were declared; NULL for NULL. They are there as long as the plan is.
//
// # Safety
// `plan` is null or a plan; `count` is null or can be written.
const uint32_t *plimsoll_plan_schedule(const struct PlimsollPlan *plan,
                                       size_t *count);

// Verifies the plan once more, by the independent verifier. `PLIMSOLL_CODE_NO` with all violations in the message
// if it is not valid.
//
// # Safety
// `plan` is a plan; `error` is null or can be written.
enum PlimsollCode plimsoll_plan_verify(const struct PlimsollPlan *plan,
                                       struct PlimsollError **error);

// The plan as JSON (`plimsoll.plan/1`), to be freed by `plimsoll_string_free`; NULL for NULL.
//
// # Safety
// `plan` is null or a plan.
char *plimsoll_plan_json(const struct PlimsollPlan *plan);

// Frees a string that this library has made; NULL is fine.
//
// # Safety
// `text` is null or such a string that was not freed.
void plimsoll_string_free(char *text);

// A temporary of so many bytes.
struct PlimsollValue plimsoll_value(uint64_t bytes);

// A program without values and steps; NULL if `execution` is no `PlimsollExecution`.
struct PlimsollProgram *plimsoll_program_new(uint32_t execution);

// Frees a program; NULL is fine.
//
// # Safety
// `program` is null or a program that was not freed.
void plimsoll_program_free(struct PlimsollProgram *program);

// Adds a value and writes its id to `id`: the first is 0.
//
// # Safety
// `program` is a program, `value` can be read and its name is null or ends with a zero; `id` and `error` are null or
// can be written.
enum PlimsollCode plimsoll_program_add_value(struct PlimsollProgram *program,
                                             const struct PlimsollValue *value,
                                             uint32_t *id,
                                             struct PlimsollError **error);

// Adds a step on a queue (0 unless the program has queues) and writes its id to `id`: the first is 0. `name` may
// be NULL.
//
// # Safety
// `program` is a program, `name` is null or ends with a zero; `id` and `error` are null or can be written.
enum PlimsollCode plimsoll_program_add_step(struct PlimsollProgram *program,
                                            const char *name,
                                            uint32_t queue,
                                            uint32_t *id,
                                            struct PlimsollError **error);

// Declares that a step reads the bytes `[from, to)` of a value; 0 and 0 mean all of them. `until` is the step with
// which the read is certainly over: the step itself, a later one, or `PLIMSOLL_NOTHING` for the end of the run.
//
// # Safety
// `program` is a program; `error` is null or can be written.
enum PlimsollCode plimsoll_program_read(struct PlimsollProgram *program,
                                        uint32_t step,
                                        uint32_t value,
                                        uint64_t from,
                                        uint64_t to,
                                        uint32_t until,
                                        struct PlimsollError **error);

// Declares that a step writes the bytes `[from, to)` of a value; 0 and 0 mean all of them. `begin` is the step with
// whose start the write may begin: the step itself or an earlier one.
//
// # Safety
// `program` is a program; `error` is null or can be written.
enum PlimsollCode plimsoll_program_write(struct PlimsollProgram *program,
                                         uint32_t step,
                                         uint32_t value,
                                         uint64_t from,
                                         uint64_t to,
                                         uint32_t begin,
                                         struct PlimsollError **error);

// Declares that in a step `output` may take over the bytes of `input`, or must.
//
// # Safety
// `program` is a program; `error` is null or can be written.
enum PlimsollCode plimsoll_program_overwrite(struct PlimsollProgram *program,
                                             uint32_t step,
                                             uint32_t output,
                                             uint32_t input,
                                             bool must,
                                             struct PlimsollError **error);

// Declares memory that a step needs while it runs, and only then; `align` at least 1.
//
// # Safety
// `program` is a program; `error` is null or can be written.
enum PlimsollCode plimsoll_program_scratch(struct PlimsollProgram *program,
                                           uint32_t step,
                                           uint64_t bytes,
                                           uint64_t align,
                                           struct PlimsollError **error);

// Declares that a step begins after another is certainly over.
//
// # Safety
// `program` is a program; `error` is null or can be written.
enum PlimsollCode plimsoll_program_after(struct PlimsollProgram *program,
                                         uint32_t step,
                                         uint32_t earlier,
                                         struct PlimsollError **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PLIMSOLL_H */
