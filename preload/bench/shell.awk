# shell.awk: makes lines "round variant seconds" into medians, and medians of the paired ratios.
{ seconds[$1, $2] = $3; if ($1 > rounds) rounds = $1 }
function of(variant,   r, v) {
	for (r = 1; r <= rounds; r++) v[r] = seconds[r, variant]
	return median(v, rounds)
}
function ratio(variant, over,   r, v) {
	for (r = 1; r <= rounds; r++) v[r] = seconds[r, variant] / seconds[r, over]
	return median(v, rounds)
}
END {
	printf "%-8s %10s %12s %12s\n", "preload", "seconds", "over empty", "over none"
	printf "%-8s %10.3f\n", "none", of("none")
	printf "%-8s %10.3f %12s %12.3f\n", "empty", of("empty"), "", ratio("empty", "none")
	printf "%-8s %10.3f %12.3f %12.3f\n", "jobeff", of("jobeff"), ratio("jobeff", "empty"), ratio("jobeff", "none")
}
