-- When a version was stored and by whom. Null: it was stored earlier, and the audit log had no entry of it any more.
alter table automation_versions add column created_at timestamptz, add column actor_kind text, add column actor_id text;
update automation_versions v set created_at = a.created_at, actor_kind = a.actor_kind, actor_id = a.actor_id
from audit_log a
where a.environment = v.environment and a.resource_id = v.automation_id and a.resource = 'automation'
  and (a.after ->> 'version')::int = v.version and (a.before is null or (a.before ->> 'version')::int < v.version);

-- A run may fail long after its creation: what failed lately is found by the end of the run. Failures are rare, so their index costs little.
alter table unsuccessful_runs add column finished_at timestamptz;
update unsuccessful_runs u set finished_at = r.finished_at from automation_runs r where u.status = 'failed' and r.number = u.number;
create index unsuccessful_runs_failed on unsuccessful_runs (environment, automation_id, finished_at) where status = 'failed';
