/* openmptsan.c: barriers and critical regions. It has no race, but only OpenMP's rules tell. */
#include <stdio.h>

int main(void)
{
	int parts[4] = { 0 }, sum = 0;

#pragma omp parallel num_threads(4)
	for (int round = 1; round <= 10; round++) {
#pragma omp for
		for (int i = 0; i < 4; i++)
			parts[i] += round;
#pragma omp critical
		sum += parts[0] + parts[3];
#pragma omp barrier
	}
	printf("%d\n", sum);
	return 0;
}
