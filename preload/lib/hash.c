/* hash.c: BLAKE2b (RFC 7693), unkeyed, 128 bits. workload.c uses it. */
#include <string.h>

#include "hash.h"

static const uint64_t initial[8] = {
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static const uint8_t order[12][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
	{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
	{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
	{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
	{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
	{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
	{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
	{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
	{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
};

JE_HOT uint64_t turn(uint64_t x, int bits)
{
	return x >> bits | x << (64 - bits);
}

JE_HOT void mix(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, uint64_t x, uint64_t y)
{
	*a += *b + x;
	*d = turn(*d ^ *a, 32);
	*c += *d;
	*b = turn(*b ^ *c, 24);
	*a += *b + y;
	*d = turn(*d ^ *a, 16);
	*c += *d;
	*b = turn(*b ^ *c, 63);
}

static void hash_block(struct je_hash *h, const uint8_t *block, bool last)
{
	uint64_t m[16], v[16];

	memcpy(m, block, sizeof(m)); /* little-endian, as the record is */
	memcpy(v, h->state, sizeof(h->state));
	memcpy(v + 8, initial, sizeof(initial));
	v[12] ^= h->bytes;
	v[14] ^= last ? ~0ull : 0;
	for (int r = 0; r < 12; r++) {
		const uint8_t *o = order[r];

		mix(&v[0], &v[4], &v[8], &v[12], m[o[0]], m[o[1]]);
		mix(&v[1], &v[5], &v[9], &v[13], m[o[2]], m[o[3]]);
		mix(&v[2], &v[6], &v[10], &v[14], m[o[4]], m[o[5]]);
		mix(&v[3], &v[7], &v[11], &v[15], m[o[6]], m[o[7]]);
		mix(&v[0], &v[5], &v[10], &v[15], m[o[8]], m[o[9]]);
		mix(&v[1], &v[6], &v[11], &v[12], m[o[10]], m[o[11]]);
		mix(&v[2], &v[7], &v[8], &v[13], m[o[12]], m[o[13]]);
		mix(&v[3], &v[4], &v[9], &v[14], m[o[14]], m[o[15]]);
	}
	for (int i = 0; i < 8; i++)
		h->state[i] ^= v[i] ^ v[i + 8];
}

void je_hash_begin(struct je_hash *h)
{
	memset(h, 0, sizeof(*h));
	memcpy(h->state, initial, sizeof(initial));
	h->state[0] ^= 0x01010000 ^ JE_HASH_BYTES;
}

/* The last block stays in `rest`: je_hash_end hashes it in another way. */
void je_hash_add(struct je_hash *h, const void *data, size_t bytes)
{
	const uint8_t *from = data;

	while (bytes > 0) {
		size_t part = JE_HASH_BLOCK - h->filled;

		if (part == 0) {
			h->bytes += JE_HASH_BLOCK;
			hash_block(h, h->rest, false);
			h->filled = 0;
			continue;
		}
		part = part < bytes ? part : bytes;
		memcpy(h->rest + h->filled, from, part);
		h->filled += (uint32_t)part;
		from += part;
		bytes -= part;
	}
}

void je_hash_end(struct je_hash *h, uint8_t out[JE_HASH_BYTES])
{
	memset(h->rest + h->filled, 0, JE_HASH_BLOCK - h->filled);
	h->bytes += h->filled;
	hash_block(h, h->rest, true);
	memcpy(out, h->state, JE_HASH_BYTES);
}
