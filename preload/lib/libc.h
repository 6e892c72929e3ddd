/* libc.h: binds what moved between libc.so and libdl.so to its oldest version, so that a
 * library built on a new glibc loads on 2.17. */
#ifndef JOBEFF_LIBC_H
#define JOBEFF_LIBC_H

#if defined(__x86_64__)
#define JE_OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define JE_OLDEST "GLIBC_2.17"
#endif

__asm__(".symver dlsym,dlsym@" JE_OLDEST);
__asm__(".symver dlopen,dlopen@" JE_OLDEST);
__asm__(".symver dladdr,dladdr@" JE_OLDEST);

#endif
