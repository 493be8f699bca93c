-- Pauses and planned changes of product, as stores and callers state them. Times in Unix seconds. `planned_changes`: each change that was planned
-- or withdrawn, with its product. Of a subscription: those of its last period.
alter table purchases
  add column is_paused boolean not null default false,
  add column pauses bigint[] not null default '{}',
  add column resumptions bigint[] not null default '{}',
  add column planned_product text,
  add column planned_changes jsonb not null default '[]';
alter table subscriptions
  add column is_paused boolean not null default false,
  add column planned_product text;

-- The index serves a statement only while it has every name of the statement.
drop index events_posted_facts;
create index events_posted_facts on events (environment, user_id, happened_at) where purchase is null and user_id is not null and name in (
  'trial_started', 'trial_converted', 'trial_canceled', 'trial_uncanceled', 'trial_billing_retry_entered', 'trial_expired', 'subscription_started',
  'subscription_renewed', 'subscription_canceled', 'subscription_uncanceled', 'subscription_billing_retry_entered', 'subscription_expired',
  'subscription_refunded', 'subscription_paused', 'subscription_resumed', 'product_change_planned', 'product_change_withdrawn',
  'in_app_purchase', 'in_app_refunded', 'refund_reversed');
