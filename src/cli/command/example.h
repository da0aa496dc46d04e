/* The trained example (examples/digits) inside the program: what `ulpscope demo` audits. */
#pragma once

#include <stddef.h>
#include <ulpscope/status.h>

enum example { EXAMPLE_MODEL, EXAMPLE_INPUTS, EXAMPLE_COUNT };
struct example_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};
extern const struct example_file example_files[EXAMPLE_COUNT];
/* Write it into the folder; *path, its path, is freed with free(). A file that is there stays: one
 * with other bytes, or a link, is refused. */
enum ulp_status example_write(enum example which, const char *folder, char **path,
                              struct ulp_error *error);
