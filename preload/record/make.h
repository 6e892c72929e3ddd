/* make.h: makes the head of a record, and reads the id of this boot and one moment on several
 * clocks.
 *
 * Three programs share it. libjobeff.so makes a record by hand, and the plugin makes a job's
 * record, as root. The fold reads the second moment of a killed rank.
 */
#ifndef JOBEFF_MAKE_H
#define JOBEFF_MAKE_H

#include <stdbool.h>
#include <time.h>

#include "record.h"

/* Reads a system clock, in ns; 0: there is no such clock. */
uint64_t je_clock_ns(clockid_t id);

/* Reads one moment on the clock `kind` (enum je_clock) and on two system clocks; false: this
 * machine has no such clock. */
bool je_pair_read(uint32_t kind, struct je_pair *pair);

/* Reads the id of this boot; false: it cannot be read. */
bool je_boot_id(uint8_t id[16]);

/* Fills in the head of a file of `bytes` bytes that belongs to `uid`; false: the boot id cannot be
 * read. */
bool je_head_make(struct je_head *head, uint64_t bytes, uint32_t uid, const uint8_t nonce[16]);

#endif
