-- What a notification has promised and the store's answers do not show yet: a period that runs at that time, or auto-renew. `promised_at`: store
-- time of the notification; `missed_since`: when the first answer lacked it.
alter table store_lanes
  add column promised text check (promised in ('period', 'auto_renew')),
  add column promised_at timestamptz,
  add column missed_since timestamptz;
