-- The story of one user, newest first: each kind of entry is read in its order, and no further than a page needs.
-- Without the id, which would be a third of it: each run that begins, and each delivery, pays for its entry.
-- Runs by an expression: without statistics other questions about the runs of a user would take this index and read all of them.
create index automation_runs_of_user_by_time on automation_runs (environment, (user_id || ''), created_at) where user_id is not null;
create index purchases_refunded_of_user on purchases (environment, user_id, refunded_at, id) where refunded_at is not null;

-- In the place of indexes without the order.
create index deliveries_of_user_by_time on deliveries (environment, user_id, created_at) where user_id is not null;
drop index deliveries_of_user;
create index experiment_assignments_of_user on experiment_assignments (environment, user_id, assigned_at, experiment_id);
drop index experiment_assignments_by_user;
create index pending_screens_of_user_by_time on pending_screens (environment, user_id, created_at, id);
drop index pending_screens_of_user;
-- What was granted and revoked stands apart from other changes: a user may have many of either.
create index audit_log_about_user on audit_log (environment, user_id,
  (case when resource in ('user_entitlement', 'customer_permission') then 'access' else 'change' end), created_at, id) where user_id is not null;
drop index audit_log_of_user;
