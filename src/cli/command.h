/* The commands, and what each of them includes: options, and the terminal. Commands print; the
 * library does not. */
#pragma once

#include "cli/option/option.h"
#include "cli/terminal/terminal.h"

extern const struct command command_audit, command_merge, command_compare, command_demo,
    command_diff, command_doctor, command_engine, command_extract, command_fix, command_lint,
    command_list, command_mcp, command_mma, command_overflow, command_plan, command_prove,
    command_quantise, command_run, command_show, command_tolerance;

/* Whether the audit is one of shards (audit_merge.c). */
bool asks_to_merge(int argc, char **argv);

/* Whether the command, or an option among its arguments, is a name that has left (gone.def): then
 * stderr says where it went. */
bool answer_gone(const char *command, int argc, char **argv);
