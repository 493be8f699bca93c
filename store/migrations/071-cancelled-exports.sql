-- An export may be cancelled while it is written.
alter table exports
  drop constraint exports_status_check,
  add constraint exports_status_check check (status in ('new', 'processing', 'done', 'failed', 'cancelled'));
