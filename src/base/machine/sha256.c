/* See sha256.h. */
#include "base/machine/sha256.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK = 64, BLOCKS = 1024 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[BLOCK] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void add_block(uint32_t state[8], const unsigned char *bytes)
{
    uint32_t w[BLOCK], v[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 |
               (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
    for (size_t i = 16; i < BLOCK; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, state, sizeof v);
    for (size_t i = 0; i < BLOCK; i++) {
        const uint32_t first = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                               ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i],
                       second = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                                ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

/* What is left of the file, a one, zeros and its length in bits. */
static void add_end(uint32_t state[8], const unsigned char *rest, size_t count, uint64_t bytes)
{
    unsigned char last[2 * BLOCK] = {0};
    const size_t length = count + 9 > BLOCK ? 2 * BLOCK : BLOCK;
    memcpy(last, rest, count);
    last[count] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[length - 1 - i] = (unsigned char)(8 * bytes >> 8 * i);
    for (size_t at = 0; at < length; at += BLOCK)
        add_block(state, last + at);
}

static bool add_file(uint32_t state[8], FILE *file, uint64_t *bytes)
{
    static const size_t room = (size_t)BLOCK * BLOCKS;
    unsigned char part[BLOCK * BLOCKS];
    size_t got;
    *bytes = 0;
    do {
        size_t at = 0;
        got = fread(part, 1, room, file);
        *bytes += got;
        for (; at + BLOCK <= got; at += BLOCK)
            add_block(state, part + at);
        if (got < room)
            add_end(state, part + at, got - at, *bytes);
    } while (got == room);
    return !ferror(file);
}

bool ulp_file_sha256(const char *path, char out[65], uint64_t *bytes)
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    struct stat info;
    /* a pipe would wait for who writes it */
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    if (!file)
        return false;
    const bool whole = add_file(state, file, bytes);
    fclose(file);
    for (size_t i = 0; i < 8; i++)
        snprintf(out + 8 * i, 9, "%08x", (unsigned)state[i]);
    return whole;
}
