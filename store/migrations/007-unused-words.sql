-- Once a day the words go that no row of facts has any more. A word without its text is a tombstone.
alter table fact_words alter column word drop not null;
create index fact_words_gone on fact_words (environment, seq) where word is null;
-- The seq at which unused words were last looked for; -1: not yet, or not since a rebuild.
alter table fact_state add column words_checked_seq bigint not null default -1;
