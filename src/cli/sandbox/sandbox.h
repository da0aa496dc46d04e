/* --sandbox, which every command takes: from its arguments' end on, before a file is read, the
 * process opens nothing but what the command line names: to read, its inputs (of a model its whole
 * folder, for external data; of a list what it lists); to write, the folders of its outputs. */
#pragma once

#include <stdbool.h>

/* --sandbox or --sandbox=try (go on where the kernel cannot) out of the arguments. Returns an exit
 * code. */
int sandbox_ask(int *argc, char **argv);
bool sandbox_is_asked(void);
/* If it was asked for: the arguments of a command, as they were parsed, become the rules.
 * Returns an exit code. */
int sandbox_enter(void);
/* Of a command whose arguments lead to others': sandbox_enter adds its rules only, and the next
 * one enters. */
void sandbox_wait(void);
