-- When a screen was published: of several with one context key, apps get the one that was published last.
alter table screens add column published_at timestamptz;
update screens set published_at = updated_at where status = 'published';
create index screens_by_context on screens (environment, context_key, published_at, id) where status = 'published' and context_key is not null;
