-- One row, which any process writes: the figures of the whole installation, read once for all processes. A crash of the server empties it.
create unlogged table drift_figures (
  one boolean primary key default true check (one),
  -- What the figures hold: another version of the program may have others.
  shape int not null,
  -- When a process began to read them, and when it had read them.
  taken_at timestamptz not null,
  read_at timestamptz,
  figures jsonb
);
