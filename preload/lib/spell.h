/* spell.h: parameter lists, and the stubs that give one function all its spellings.
 *
 * A stub notes which wrapper it is and jumps to the common body for its number of arguments.
 * So one more spelling or binding costs about 20 bytes. The compiler makes a jump because stub
 * and body have the same parameters.
 */
#ifndef JOBEFF_SPELL_H
#define JOBEFF_SPELL_H

/* clang-format off */
#define JE_P0 void
#define JE_A0 
#define JE_P1 intptr_t a0
#define JE_A1 a0
#define JE_P2 intptr_t a0, intptr_t a1
#define JE_A2 a0, a1
#define JE_P3 intptr_t a0, intptr_t a1, intptr_t a2
#define JE_A3 a0, a1, a2
#define JE_P4 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3
#define JE_A4 a0, a1, a2, a3
#define JE_P5 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4
#define JE_A5 a0, a1, a2, a3, a4
#define JE_P6 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5
#define JE_A6 a0, a1, a2, a3, a4, a5
#define JE_P7 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5, intptr_t a6
#define JE_A7 a0, a1, a2, a3, a4, a5, a6
#define JE_P8 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5, intptr_t a6, intptr_t a7
#define JE_A8 a0, a1, a2, a3, a4, a5, a6, a7
#define JE_P9 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5, intptr_t a6, intptr_t a7, intptr_t a8
#define JE_A9 a0, a1, a2, a3, a4, a5, a6, a7, a8
#define JE_P10 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5, intptr_t a6, intptr_t a7, intptr_t a8, intptr_t a9
#define JE_A10 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9
#define JE_P11 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5, intptr_t a6, intptr_t a7, intptr_t a8, intptr_t a9, intptr_t a10
#define JE_A11 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10
#define JE_P12 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5, intptr_t a6, intptr_t a7, intptr_t a8, intptr_t a9, intptr_t a10, intptr_t a11
#define JE_A12 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11
#define JE_P13 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5, intptr_t a6, intptr_t a7, intptr_t a8, intptr_t a9, intptr_t a10, intptr_t a11, intptr_t a12
#define JE_A13 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12
#define JE_P14 intptr_t a0, intptr_t a1, intptr_t a2, intptr_t a3, intptr_t a4, intptr_t a5, intptr_t a6, intptr_t a7, intptr_t a8, intptr_t a9, intptr_t a10, intptr_t a11, intptr_t a12, intptr_t a13
#define JE_A14 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13
/* clang-format on */

/* the same, filled up with zeros to four */
#define JE_FOUR0 0, 0, 0, 0
#define JE_FOUR1 a0, 0, 0, 0
#define JE_FOUR2 a0, a1, 0, 0
#define JE_FOUR3 a0, a1, a2, 0
#define JE_FOUR4 a0, a1, a2, a3

#define JE_PASTE_(a, b) a##b
#define JE_PASTE(a, b) JE_PASTE_(a, b)
#define JE_PARAMS(n) JE_PASTE(JE_P, n)
#define JE_NAMES(n) JE_PASTE(JE_A, n)

/* args + 1 (ierror) + strings (hidden lengths) as a token */
#define JE_SUM_(args, more) JE_SUM_##args##_##more
#define JE_SUM(args, more) JE_SUM_(args, more)
/* clang-format off */
#define JE_SUM_0_0 1
#define JE_SUM_0_1 2
#define JE_SUM_0_2 3
#define JE_SUM_1_0 2
#define JE_SUM_1_1 3
#define JE_SUM_1_2 4
#define JE_SUM_2_0 3
#define JE_SUM_2_1 4
#define JE_SUM_2_2 5
#define JE_SUM_3_0 4
#define JE_SUM_3_1 5
#define JE_SUM_3_2 6
#define JE_SUM_4_0 5
#define JE_SUM_4_1 6
#define JE_SUM_4_2 7
#define JE_SUM_5_0 6
#define JE_SUM_5_1 7
#define JE_SUM_5_2 8
#define JE_SUM_6_0 7
#define JE_SUM_6_1 8
#define JE_SUM_6_2 9
#define JE_SUM_7_0 8
#define JE_SUM_7_1 9
#define JE_SUM_7_2 10
#define JE_SUM_8_0 9
#define JE_SUM_8_1 10
#define JE_SUM_8_2 11
#define JE_SUM_9_0 10
#define JE_SUM_9_1 11
#define JE_SUM_9_2 12
#define JE_SUM_10_0 11
#define JE_SUM_10_1 12
#define JE_SUM_10_2 13
#define JE_SUM_11_0 12
#define JE_SUM_11_1 13
#define JE_SUM_11_2 14
#define JE_SUM_12_0 13
#define JE_SUM_12_1 14
#define JE_SUM_13_0 14
/* clang-format on */

/* A few compilers add a second underscore. Names with none, or in capitals, are left out: C
 * functions of other libraries have them. */
#define JE_MANGLED(prefix, lower) JE_ALIAS(prefix##mpi_##lower##_, prefix##mpi_##lower##__)
#define JE_ALIAS(of, spelling) \
	extern __typeof__(of) spelling __attribute__((alias(#of), visibility("default")));

/* An MPI may lack what MPI 4 brought, and a program may ask dlsym() whether its own has it. So such
 * a function has the prefix je_ here, and a version that only linked programs see (exports.map). */
#define JE_NEWER(symbol) __asm__(".symver je_" #symbol "," #symbol "@JOBEFF_NEWER");
#define JE_NEWER_MANGLED(lower)      \
	JE_NEWER(mpi_##lower##_)     \
	JE_NEWER(mpi_##lower##_f08_) \
	JE_NEWER(mpi_##lower##__)

#endif
