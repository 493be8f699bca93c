-- A rebuild of facts folds the users of an environment in the order of their numbers.
create index users_by_environment_and_no on users (environment, no);
