package units

// Stamped is what DeployStack makes of unit files.
var Stamped = stamped
