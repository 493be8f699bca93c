-- When a claim began whose lease ran out although its worker recorded nothing: the effect of the job may have happened. Null once an executor of the job has
-- read it.
alter table due add column lapsed_at timestamptz;

-- A row of an expired batch says that its jobs were never begun. A crash of the server must not forget that: each of these jobs would be taken for
-- begun.
alter table batches set logged;
