// Tables and statements of an automation's path by hand: the columns and indexes that a product needs to show and to repeat its work.
export const TABLES = `
  create table h_runs (number bigint generated always as identity primary key, environment int, id text, automation text, version int,
    user_id text, event_id text, event_name text, happened_at timestamptz, received_at timestamptz, status text, current_step text,
    due_at timestamptz, started_at timestamptz, finished_at timestamptz);
  create unique index on h_runs (environment, id);
  create index on h_runs (environment, automation, number);
  create index on h_runs (environment, user_id, number);
  create unique index on h_runs (environment, automation, event_id);
  create table h_steps (run bigint, n int, step_id text, type text, status text, started_at timestamptz, finished_at timestamptz, result jsonb,
    attempts jsonb, primary key (run, n));
  create table h_deliveries (number bigint generated always as identity primary key, environment int, id text, integration int, source text,
    event_id text, event_name text, user_id text, automation text, run_id text, step_id text, status text, attempts jsonb, attempt_count int,
    created_at timestamptz, finished_at timestamptz);
  create unique index on h_deliveries (environment, id);
  create index on h_deliveries (environment, integration, number);
  create unique index on h_deliveries (environment, run_id, step_id);
  create index on h_deliveries (environment, user_id, number);
  create table h_due (kind text, id bigint, environment int, due_at timestamptz, destination int, lease_until timestamptz, fence int,
    primary key (kind, id));
  create index on h_due (kind, environment, due_at)`

const START = `
  with r as (
    insert into h_runs (environment, id, automation, version, user_id, event_id, event_name, happened_at, received_at, status, started_at)
    select 1, i, 'a1', 1, u, i, 'bench.path', now(), now(), 'running', now() from unnest($1::text[], $2::text[]) k(i, u)
    returning number, id, user_id
  ), d as (insert into h_due select 'run', number, 1, now(), null, now() + interval '30 s', 1 from r)
  select * from r`

const SEND = `
  with k as (select * from unnest($1::bigint[], $2::text[], $3::text[]) k(n, i, u)),
  l as materialized (select id, fence from h_due d join k on d.kind = 'run' and d.id = k.n order by id for no key update of d),
  s as (insert into h_steps (run, n, step_id, type, status, started_at) select n, 0, 'hook', 'webhook', 'waiting', now() from k),
  x as (
    insert into h_deliveries (environment, id, integration, source, event_id, event_name, user_id, automation, run_id, step_id, status, created_at)
    select 1, 'd' || i, 1, 'automation', i, 'bench.path', u, 'a1', i, 'hook', 'pending', now() from k returning number, id, run_id
  ), e as (insert into h_due select 'delivery', number, 1, now(), 1, now() + interval '30 s', 1 from x),
  w as (update h_due d set due_at = now() + interval '30 d', lease_until = null from k where d.kind = 'run' and d.id = k.n),
  u as (update h_runs r set status = 'waiting', current_step = 'hook' from k where r.number = k.n)
  select * from x`

const RECORD = `
  with k as (select * from unnest($1::bigint[]) k(n)),
  d as (delete from h_due d using k where d.kind = 'delivery' and d.id = k.n),
  u as (
    update h_deliveries v set status = 'delivered', finished_at = now(), attempt_count = 1,
      attempts = '[{"at": "2026-01-01T00:00:00Z", "status": 200, "ms": 3}]'
    from k where v.number = k.n returning v.run_id)
  update h_due d set due_at = now() from h_runs r, u where r.environment = 1 and r.id = u.run_id and d.kind = 'run' and d.id = r.number`

const END = `
  with k as (select * from unnest($1::bigint[]) k(n)),
  d as (delete from h_due d using k where d.kind = 'run' and d.id = k.n),
  s as (update h_steps t set status = 'succeeded', finished_at = now(), result = '{"http_status": 200}' from k where t.run = k.n and t.n = 0)
  update h_runs r set status = 'succeeded', finished_at = now(), current_step = null from k where r.number = k.n`

/** By their order: the run starts, its step creates the delivery, the answer is recorded, the run ends. */
export const BY_HAND = {
  start: { name: 'start', text: START },
  send: { name: 'send', text: SEND },
  record: { name: 'record', text: RECORD },
  end: { name: 'end', text: END },
}
