package notice

import "time"

// Sent is what was told to a user: one notice.
type Sent struct {
	Cluster  string
	UID      uint32
	At       time.Time
	Subjects []string // of its items
}

// Notice is what one user is told now.
type Notice struct {
	Cluster string
	UID     uint32
	User    string // the name; "" where it is not known
	Reason  string // why now
	Since   time.Time
	Items   []NoticeItem // at most mostItems, those that save most first
	More    int          // items that are left out
	Sure    float64      // core-hours that all items are sure to save: the sum of the lower ends
	Used    float64      // core-hours of all the user's jobs since then
}

// mostItems is what a person reads of a mail.
const mostItems = 5

// Sent is the notice as the log keeps it, once it was sent.
func (n *Notice) Sent(at time.Time) Sent {
	s := Sent{Cluster: n.Cluster, UID: n.UID, At: at}
	for _, i := range n.Items {
		s.Subjects = append(s.Subjects, i.Subject)
	}
	return s
}

type userKey struct {
	cluster string
	uid     uint32
}
