/* hash.h: BLAKE2b with 128 bits, as `b2sum -l 128` prints it. The hash must be one-way: it
 * leaves the node, and an argument may be a password. */
#ifndef JOBEFF_HASH_H
#define JOBEFF_HASH_H

#include "jobeff.h"

#pragma GCC visibility push(hidden)

enum { JE_HASH_BYTES = 16, JE_HASH_BLOCK = 128 };

struct je_hash {
	uint64_t state[8];
	uint64_t bytes; /* hashed so far, without those in `rest` */
	uint32_t filled;
	uint8_t rest[JE_HASH_BLOCK];
};

void je_hash_begin(struct je_hash *h);
void je_hash_add(struct je_hash *h, const void *data, size_t bytes);
void je_hash_end(struct je_hash *h, uint8_t out[JE_HASH_BYTES]);

#pragma GCC visibility pop

#endif
