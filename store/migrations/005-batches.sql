-- A ring stands for promises of one kind and priority that are due: the sweep holds them for whoever takes the ring first, for a while.
-- That a ring is taken is one row that goes, however many promises it stands for. A crash of the server forgets the rings, and what they
-- held falls free.
create unlogged table batches (
  number bigint generated always as identity primary key,
  kind text not null,
  priority smallint not null,
  until timestamptz not null,
  ids bigint[] not null,
  fences int[] not null,
  -- Of each promise; 0: no destination.
  environments int[] not null,
  destinations int[] not null
);
