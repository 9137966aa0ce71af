package task

// HasFailedStatus reports whether the task has ended as failed; false for nil.
func HasFailedStatus(taskObject *Task) bool {
	return taskObject != nil && taskObject.FinalStatus == StatusFailed
}

// HasFinalStatus reports whether the task has ended, one way or the other; false for nil.
func HasFinalStatus(taskObject *Task) bool {
	return HasFailedStatus(taskObject) || HasSucceededStatus(taskObject)
}

// HasSucceededStatus reports whether the task has ended as succeeded; false for nil.
func HasSucceededStatus(taskObject *Task) bool {
	return taskObject != nil && taskObject.FinalStatus == StatusSucceeded
}
