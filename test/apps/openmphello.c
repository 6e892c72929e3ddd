/* openmphello.c: a short program with one parallel region. */
int main(void)
{
	int threads = 0;

#pragma omp parallel num_threads(2) reduction(+ : threads)
	threads++;
	return threads == 2 ? 0 : 1;
}
