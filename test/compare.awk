# compare.awk: makes lines "round what tool number" into one line per what: the median with none, and of the
# others the median of the paired differences to none, with its 90 % interval. Behind preload/bench/median.awk.
{
	value[$2, $3, $1] = $4
	if (!($2 in seen)) { seen[$2] = 1; rows[++n_rows] = $2 }
	if ($1 > rounds) rounds = $1
}
END {
	n_tools = split("jobeff talp mpip mpip-k0", tools)
	for (i = 1; i <= n_rows; i++) {
		for (r = 1; r <= rounds; r++) v[r] = value[rows[i], "none", r]
		printf "%-21s none %.0f", rows[i], median(v, rounds)
		for (j = 1; j <= n_tools; j++) {
			for (r = 1; r <= rounds; r++) v[r] = value[rows[i], tools[j], r] - value[rows[i], "none", r]
			interval(v, rounds)
			printf "  %s %+.0f [%.0f, %.0f]", tools[j], median(v, rounds), low, high
		}
		print ""
	}
}
