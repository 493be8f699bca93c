-- Events that apps send (v3) are stored like posted ones, but are facts of no subscription: `purchase` is 0.
comment on column events.purchase is 'The purchase that emitted the event. null: the event was posted. 0: an app has sent it.';
-- When it happened as the app sent it, in Unix seconds; null: it sent none. A repeat is known by it where the stored time is that of the receipt.
alter table events add column sent_at bigint;
