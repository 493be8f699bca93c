-- People who work with the installation. They belong to no environment: `operator_roles` says what one may do in which project.
create table operators (
  id text collate "C" primary key,
  -- As given; two addresses that differ in case alone are the same account.
  email text not null,
  name text not null,
  -- Argon2id in its own text form; null until a password is chosen.
  password_hash text,
  -- Everything in the installation, and every role in every project.
  is_owner boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  -- An account that was closed signs in nowhere and keeps its name in the audit log.
  closed_at timestamptz
);
create unique index operators_by_email on operators (lower(email) collate "C") where closed_at is null;

create table operator_roles (
  operator text collate "C" not null references operators,
  project int not null references projects,
  role text not null check (role in ('viewer', 'editor', 'admin')),
  primary key (operator, project)
);
