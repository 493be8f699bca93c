-- Saved views of figures, and annotations of their time axis.

create table analytics_views (
  environment int not null references environments,
  id text collate "C" not null,
  name text not null,
  kind text not null check (kind in ('chart', 'cohorts', 'ltv')),
  -- Of a chart alone.
  code text check ((code is null) = (kind <> 'chart')),
  -- The parameters of the operation that answers the view, as given.
  query jsonb not null,
  -- The name of a relative range, or {from, to} in Unix seconds.
  range jsonb not null,
  pinned boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment, id)
);
create index analytics_views_by_creation on analytics_views (environment, created_at, id);

create table analytics_annotations (
  environment int not null references environments,
  id text collate "C" not null,
  -- When what the annotation tells of happened, or will happen.
  noted_at timestamptz not null,
  kind text not null,
  text text not null,
  created_at timestamptz not null,
  primary key (environment, id)
);
create index analytics_annotations_by_time on analytics_annotations (environment, noted_at, id);

-- The entries that annotate by themselves: domain/annotations asks with the same condition. An entry of a creation or a deletion is none.
create index audit_log_that_annotates on audit_log (environment, created_at, id) where
  (resource = 'experiment' and before ->> 'started_at' is null and after ->> 'started_at' is not null)
  or (resource = 'experiment' and before ->> 'finished_at' is null and after ->> 'finished_at' is not null)
  or (resource = 'product' and before is not null and after is not null)
  or (resource = 'screen' and before ->> 'status' <> 'published' and after ->> 'status' = 'published');
