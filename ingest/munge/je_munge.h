/* The part of libmunge.so.2 that jobeff uses, found at run time: neither building
 * nor starting a jobeff program needs munge. The values are libmunge's ABI. */
#ifndef JE_MUNGE_H
#define JE_MUNGE_H

#include <stdint.h>

/* What je_munge_encode and je_munge_decode return besides munge's own codes. */
#define JE_MUNGE_NO_LIBRARY (-1)
#define JE_MUNGE_NO_CONTEXT (-2)
#define JE_MUNGE_BAD_OPTION (-3)

struct je_munge_cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t addr4; /* network byte order */
	int ttl_s;
	int64_t encoded_s; /* CLOCK_REALTIME of the encoding host */
	void *payload;	   /* to be freed */
	int length;
};

/* Loads the library once; NULL if it did, else why not (static text). */
const char *je_munge_load(void);

/* Makes a credential of payload; *cred and *why (set on failure) are to be freed.
 * An empty socket means munge's own; ttl_s 0 the daemon's default. */
int je_munge_encode(const char *socket, int ttl_s, const void *payload, int length, char **cred,
		    char **why);

/* Decodes cred. out is filled only if the return code is 0, though libmunge also
 * gives uid and payload for expired and replayed credentials. */
int je_munge_decode(const char *socket, const char *cred, struct je_munge_cred *out, char **why);

#endif
