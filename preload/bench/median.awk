# median.awk: functions for all tables: medians, and the interval of a median.

# Puts a value among sorted[1..k-1], which become sorted[1..k].
function insert(sorted, k, value,   j) {
	for (j = k - 1; j >= 1 && sorted[j] > value; j--) sorted[j + 1] = sorted[j]
	sorted[j + 1] = value
}
function median(values, n,   sorted, i) {
	if (n == 0) return "nan"
	for (i = 1; i <= n; i++) insert(sorted, i, values[i])
	return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}
# Sets low and high to the 90 % bootstrap interval of the median.
function interval(values, n,   i, k, drawn, sorted) {
	srand(1)
	for (k = 1; k <= 1000; k++) {
		for (i = 1; i <= n; i++) drawn[i] = values[1 + int(rand() * n)]
		insert(sorted, k, median(drawn, n))
	}
	low = sorted[50]
	high = sorted[950]
}
# What the last interval says of a bound.
function verdict(bound) {
	return high <= bound ? "met" : low <= bound ? "not shown" : "NOT MET"
}
