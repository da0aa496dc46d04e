/* Constants that change time and memory only: with any other values every result has the same
 * bits. Constants that guard exactness stand where they are used, with their derivation.
 *
 * Before each constant: what it is for. `make bench` says what another value gives. */
#pragma once

#include <stddef.h>

/* ---- threads (base/machine/thread.c) ---- */

/* What handing over a piece of work costs, so what a piece should take. */
#define ULP_TUNE_GRAIN_NANOSECONDS 20000
/* A chunk is this part of what is left: chunks become shorter towards the end, and threads end
 * together. */
#define ULP_TUNE_CHUNK_SHARE 4
/* From calling a thread that sleeps until it runs. A wait of about that is cheaper watched than
 * slept. */
#define ULP_TUNE_WAKE_SECONDS 50e-6
/* Calling costs the caller, and starting and joining a thread, so long. Threads start when as much
 * would have been saved. tinybert_1l with two threads: 0.50 ms without these three, 0.34 with
 * them. */
#define ULP_TUNE_CALL_SECONDS 10e-6
#define ULP_TUNE_START_SECONDS 150e-6
/* With fewer chunks, timing the first one would cost more than a call. */
#define ULP_TUNE_WATCHED_CHUNKS_MIN 8

/* ---- memory (base/memory, base/machine/file.c) ---- */

/* Arenas: the first block, for small graphs; all blocks but the first few. */
#define ULP_TUNE_ARENA_FIRST_BYTES 768
#define ULP_TUNE_ARENA_BLOCK_BYTES ((size_t)1 << 20)
/* Of a cleared arena the newest block up to this stays, so that the next node takes none. */
#define ULP_TUNE_ARENA_KEPT_BYTES ((size_t)64 << 10)
/* The views of an output are measured side by side, each tensor being read once, while the errors
 * in ulps that medians need take no more than this. */
#define ULP_TUNE_MEASURE_BYTES ((size_t)256 << 20)
/* Blocks from here on are aligned by the system's own function ... */
#define ULP_TUNE_ALIGNED_BYTES_MIN ((size_t)64 << 10)
/* ... and from here on they are pages of their own. */
#define ULP_TUNE_MAPPED_BYTES_MIN ((size_t)32 << 20)
/* Texts of formulas that a node keeps; and of the memory limit, or without one in bytes, what they
 * take at most. */
#define ULP_TUNE_TEXTS_MAX 64
#define ULP_TUNE_PREPARED_SHARE 64
#define ULP_TUNE_PREPARED_BYTES ((size_t)64 << 20)
/* Floats of 8 and 16 bits in a file of external data stay there from this size on; smaller ones are
 * decoded when they are loaded. */
#define ULP_TUNE_STORED_BYTES_MIN ((size_t)1 << 20)
/* A weight that would take more than this part of the memory limit once a lane has lowered it is
 * lowered in blocks of so many elements, by each product anew. */
#define ULP_TUNE_LOWERED_SHARE 32
#define ULP_TUNE_BLOCK_ELEMENTS ((size_t)1 << 23)
/* Mapped weights that are more than this part of the memory limit are given back after their last
 * use, and those of next steps are read ahead: so many bytes. */
#define ULP_TUNE_STREAMED_SHARE 4
#define ULP_TUNE_FETCHED_BYTES ((size_t)128 << 20)
/* A text that goes to a file is written when it has grown to this. */
#define ULP_TUNE_FLUSHED_BYTES ((size_t)64 << 10)

/* ---- formulas over tensors (formula/) ---- */

/* Elementwise rows are made this long from inner axes where they are shorter, up to the second,
 * whose tables of positions stay in the first-level cache. */
#define ULP_TUNE_ROW_MIN 32
#define ULP_TUNE_ROW_JOINED 2048
/* Rows that reduce side by side: fewer are computed one by one. */
#define ULP_TUNE_TILE_ROWS_MIN 8
/* Kept values of one instruction of a tile: some of them fit in the second-level cache. */
#define ULP_TUNE_TILE_ELEMENTS 32768
/* Rows of a tile: of neighbouring rows as many as a strip holds, this at least; of rows apart from
 * one another at least the second and at most the third, whose cache lines stay in the first-level
 * cache while their positions are walked. */
#define ULP_TUNE_TILE_ROWS_ADJACENT 64
#define ULP_TUNE_TILE_ROWS_APART 16
#define ULP_TUNE_TILE_ROWS_APART_MAX 64

/* ---- scalar chains (kernels/chain/), by BLIS's names ---- */

/* A panel of 32 columns of KC floats is 32 KiB: it stays in the first-level cache while the rows
 * pass. MC rows of KC floats are 280 KiB, in the second-level cache; NC columns 512 KiB. */
#define ULP_TUNE_KC 256
#define ULP_TUNE_MC 280
#define ULP_TUNE_NC 512
/* What it costs to write an output that does not lie in runs, in products. */
#define ULP_TUNE_SCATTERED_OUTPUT_PRODUCTS 48
/* A product's blocks, for each thread at least. */
#define ULP_TUNE_BLOCKS_PER_THREAD 4
/* Elements of cells that are rounded with their scales at once, and at least so many cells, whose
 * neighbours in memory share cache lines. */
#define ULP_TUNE_SCALED_ELEMENTS 4096
#define ULP_TUNE_SCALED_CELLS_MIN 16

/* ---- matrix units (kernels/unit/) ---- */

/* Rows of an item of work: their planes stay in the second-level cache. */
#define ULP_TUNE_UNIT_ROWS_MAX 64
#define ULP_TUNE_UNIT_ROWS_BYTES ((size_t)512 << 10)
/* Planes of several batches' columns together, and of one batch. */
#define ULP_TUNE_UNIT_GROUP_BYTES ((size_t)1 << 20)
#define ULP_TUNE_UNIT_COLUMNS_BYTES ((size_t)16 << 20)
/* Slots of a panel used at a time: 24 KB, in the first-level cache. */
#define ULP_TUNE_UNIT_TILE_SLOTS 128
/* Items for each thread, so that threads end together, of so many panels at least. */
#define ULP_TUNE_UNIT_ITEMS_PER_THREAD 16
#define ULP_TUNE_UNIT_ITEM_PANELS_MIN 24

/* ---- elsewhere ---- */

/* Elements that a task of moving them takes. */
#define ULP_TUNE_MOVE_GRAIN 32768
/* Elements looked at for NaN and infinities in a task. */
#define ULP_TUNE_SPECIAL_GRAIN 4096
/* Lanes and outputs are swept back for shares side by side while a step takes no more than this. */
#define ULP_TUNE_SWEPT_BYTES ((size_t)256 << 20)
/* Elements of temporary cotangents at a time. */
#define ULP_TUNE_REVERSE_ELEMENTS ((size_t)1 << 18)
