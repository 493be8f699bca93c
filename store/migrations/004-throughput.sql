-- What an environment has promised is found by `due_by_time`, kind by kind: one index less to write with each promise.
drop index due_by_environment;
