package job

// MostSteps bounds the steps that a node lists of a job, and those of all of its nodes together.
const MostSteps = 10_000

// TasksOf is how many tasks a job asked for, or one of its steps had, whichever are more; 0: not known.
func TasksOf(steps []Step) (most int) {
	for i := range steps {
		s := &steps[i]
		if most = max(most, s.Asked); s.ID != "batch" && s.ID != "extern" && s.ID != "interactive" {
			most = max(most, s.Tasks)
		}
	}
	return most
}
