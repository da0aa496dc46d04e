/* Quantised weights with other scales than their file has. */
#pragma once

#include "run/program/program.h"

/* The floats, which the original has where the dequantizer's readers read, rounded to its type by
 * their own largest magnitudes over the type's largest number: where one scale stands for all by
 * one for each output channel of the first reader, and where they lie in blocks by blocks as long,
 * along the axis `summed` (-1: theirs). *out stays undefined where it has scales of channels
 * already, or no channels, or integers without a sign. Free it with ulp_tensor_free. */
enum ulp_status ulp_rescale(const struct ulp_program *program, const struct ulp_step *dequantizer,
                            const struct ulp_tensor *floats, int summed, struct ulp_tensor *out,
                            struct ulp_error *error);
