package job

// RandomTimeline is for tests outside of the package.
var RandomTimeline = randomTimeline
