-- The entries of one actor, in the order of the list.
create index audit_log_by_actor on audit_log (environment, actor_id, created_at, id) include (resource, operation, actor_kind, resource_id)
  where environment is not null and actor_id is not null;
create index audit_log_of_project_by_actor on audit_log (project, actor_id, created_at, id) include (resource, operation, actor_kind, resource_id)
  where environment is null and actor_id is not null;
