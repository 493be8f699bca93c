-- The user who has the lineage of a posted event, where another one was named with the event. The log keeps who was named.
alter table events add column lineage_owner text collate "C";

-- The posted facts of a user are those of the user's lineages.
drop index events_posted_facts;
create index events_posted_facts on events (environment, coalesce(lineage_owner, user_id), happened_at)
  where purchase is null and user_id is not null and name in (
  'trial_started', 'trial_converted', 'trial_canceled', 'trial_uncanceled', 'trial_billing_retry_entered', 'trial_expired', 'subscription_started',
  'subscription_renewed', 'subscription_canceled', 'subscription_uncanceled', 'subscription_billing_retry_entered', 'subscription_expired',
  'subscription_refunded', 'subscription_paused', 'subscription_resumed', 'product_change_planned', 'product_change_withdrawn',
  'in_app_purchase', 'in_app_refunded', 'refund_reversed');

-- Who has a lineage is its first and its last entry, however long it is.
create index events_of_lineages on events (environment,
    ((coalesce(platform, '') || ':' || coalesce(original_transaction_id, transaction_id)) collate "C"), coalesce(lineage_owner, user_id))
  where purchase is null and user_id is not null and coalesce(original_transaction_id, transaction_id) is not null and name in (
  'trial_started', 'trial_converted', 'trial_canceled', 'trial_uncanceled', 'trial_billing_retry_entered', 'trial_expired', 'subscription_started',
  'subscription_renewed', 'subscription_canceled', 'subscription_uncanceled', 'subscription_billing_retry_entered', 'subscription_expired',
  'subscription_refunded', 'subscription_paused', 'subscription_resumed', 'product_change_planned', 'product_change_withdrawn', 'refund_reversed');
