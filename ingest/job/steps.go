package job

// MostSteps bounds the steps that are listed of a job, by a node and of all of its nodes.
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
