-- The refunds of a purchase that make up refunded_amount, in the order in which they were stated: [{"at": time, "amount": text}]. A worker of the
-- previous version writes refunded_at and refunded_amount only: whoever reads takes what is missing for one refund at refunded_at.
alter table purchases add column refunds jsonb not null default '[]';
