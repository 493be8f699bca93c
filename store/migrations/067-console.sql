-- What an operator has chosen in the console: zone, theme, density, first day of the week, pins. `{}`: nothing yet.
alter table operators add column preferences jsonb not null default '{}';
