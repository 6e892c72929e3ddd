/* make.h: what a record is made of that more than one program makes: the head of the file,
 * the id of this boot, and a moment on several clocks.
 *
 * libjobeff.so (a record by hand), the plugin (a job's record, as root) and the fold (the
 * second moment of a killed rank) share it.
 */
#ifndef JOBEFF_MAKE_H
#define JOBEFF_MAKE_H

#include <stdbool.h>
#include <time.h>

#include "record.h"

/* A clock of the system in ns; 0: there is no such clock. */
uint64_t je_clock_ns(clockid_t id);

/* Reads one moment on the clock `kind` (enum je_clock) and on the two system clocks; false:
 * this machine has no such clock. */
bool je_pair_read(uint32_t kind, struct je_pair *pair);

/* Reads the id of this boot; false: the kernel does not tell. */
bool je_boot_id(uint8_t id[16]);

/* Fills in the head of a file of `bytes`, in which `uid` may write; false: the boot is not
 * known. */
bool je_head_make(struct je_head *head, uint64_t bytes, uint32_t uid, const uint8_t nonce[16]);

#endif
