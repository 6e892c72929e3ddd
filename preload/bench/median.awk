# median.awk: functions for all tables: medians, and the interval of a median.
function median(values, n,   sorted, i, j, t) {
	if (n == 0) return "nan"
	for (i = 1; i <= n; i++) sorted[i] = values[i]
	for (i = 2; i <= n; i++) {
		t = sorted[i]
		for (j = i - 1; j >= 1 && sorted[j] > t; j--) sorted[j + 1] = sorted[j]
		sorted[j + 1] = t
	}
	return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}
# Sets low and high to the 90 % bootstrap interval of the median.
function interval(values, n,   i, k, drawn, medians, sorted, t, j) {
	srand(1)
	for (k = 1; k <= 1000; k++) {
		for (i = 1; i <= n; i++) drawn[i] = values[1 + int(rand() * n)]
		t = median(drawn, n)
		for (j = k - 1; j >= 1 && sorted[j] > t; j--) sorted[j + 1] = sorted[j]
		sorted[j + 1] = t
	}
	low = sorted[50]
	high = sorted[950]
}
# What the last interval says of a bound.
function verdict(bound) {
	return high <= bound ? "met" : low <= bound ? "not shown" : "NOT MET"
}
