/* Memory that ends: the n-th allocation of this process fails, of its own code and of the libraries
 * it uses, and so does what else takes memory (mmap, pthread_create). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on count, and let request number `at` fail (0: none), or all from it on. */
void exhaust_start(long at, bool all_after);
/* How many requests there were since then. */
long exhaust_count(void);

/* What blocks hold from now on when they are given, word by word; 0: what was there before. */
void exhaust_fill(uint64_t word);

/* Bytes that malloc has given and not got back, and the most they were since exhaust_start. */
size_t exhaust_live(void);
size_t exhaust_peak(void);
