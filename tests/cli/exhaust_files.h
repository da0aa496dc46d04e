/* What the commands of check_exhaustion read: a model with a function and a Loop, its inputs in
 * every kind of file, a recording, a plan, an engine's description. */
#pragma once

/* In a new test_folder, with an empty folder "out". */
void exhaust_files_create(void);
