-- Orders statements of one origin about the same instant: answers by when the store was asked, notifications by their arrival. Stores tell the
-- time of an answer in whole seconds. Null: recorded before.
alter table store_statements add column sequence bigint;
create sequence store_questions;
