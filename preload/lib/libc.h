/* libc.h: binds the functions that moved from libdl.so to libc.so to their oldest version.
 * A library that was built on a new glibc then loads on 2.17. */
#ifndef JOBEFF_LIBC_H
#define JOBEFF_LIBC_H

#if defined(__x86_64__)
#define JE_OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define JE_OLDEST "GLIBC_2.17"
#endif

__asm__(".symver dlsym,dlsym@" JE_OLDEST);
__asm__(".symver dlopen,dlopen@" JE_OLDEST);
__asm__(".symver dlerror,dlerror@" JE_OLDEST);
__asm__(".symver dladdr,dladdr@" JE_OLDEST);
__asm__(".symver dlclose,dlclose@" JE_OLDEST);

#endif
