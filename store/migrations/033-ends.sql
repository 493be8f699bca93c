-- What stores say of how a period began and ended. `is_new_buy`: the store calls the period a purchase, not a renewal, so it never continues a
-- billing retry. `off_causes`: who switched auto-renew off, of each time, where it was not the customer (else null; empty: none is known).
-- `is_discounted`: the store states a discount.
alter table purchases
  add column is_new_buy boolean not null default false,
  add column off_causes text[] not null default '{}',
  add column is_discounted boolean not null default false;

-- Not valid: a check of all rows would hold up every read and write of the table, and each of them has the default.
alter table purchases add constraint off_causes_known
  check (array_remove(off_causes, null) <@ array['billing_error', 'store']) not valid;

-- Why a subscription ended, whether the customer cancelled it, and whether a discount reduced the price. Null: the event does not say it.
alter table events
  add column reason text,
  add column is_voluntary boolean,
  add column is_discounted boolean;

-- `subscription_changes` may have several rows of a subscription and instant: besides the one with what changed, one for each paid run whose access
-- ended then and whose billing retry was given up later. Both of its sides are the same, and it counts from the end of the retry on.
