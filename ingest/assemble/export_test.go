package assemble

// What tests outside of the package use.
var Oversubscribed = oversubscribed

const OtherPrograms = otherPrograms
