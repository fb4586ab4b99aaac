"""The suite's kernels as experts of other libraries write them.

A function here is called as the procedure it stands for (`Case.form`), with the
procedure's arrays in the order of its arguments (sizes left out: shapes tell them;
scalars are arrays of shape `()`). It prepares whatever may be prepared once (views,
temporaries, layouts) and returns the call that is timed. That call leaves its results in the
arrays, or returns them: one array, or a tuple in the order of the arguments written.

A peer may do less than the procedure where its library has no such form: accumulators
that start from zero may be overwritten instead of added to.
"""
