-- A vacuum after inserts reads the pages that have come since the last one. As a share of the table (2 %) it comes after 200,000 events of ten million
-- and after two million of a hundred million, and each takes ten times as long. What is frozen at once is not read again: otherwise a vacuum against
-- the wraparound of transaction ids reads every page of the log, one day.
alter table events set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000, autovacuum_freeze_min_age = 0);
