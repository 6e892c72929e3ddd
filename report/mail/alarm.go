package mail

import (
	"jobeff/policy/harm"
	"jobeff/policy/notice"
	"jobeff/report/view"
	"jobeff/report/words"
)

// Alarm is the letter of an alarm, without recipients. A site's templates have no part in it.
func Alarm(a *harm.Alarm, site view.Site) notice.Letter {
	return plain("jobeff: ALARM: measured jobs end worse than others", words.AlarmText(a, site.Zone), words.AlarmHelp)
}
