-- The posted refunds of a transaction, whoever has its purchase now.
create index events_posted_refunds on events (environment, transaction_id)
  where purchase is null and transaction_id is not null and name in ('subscription_refunded', 'in_app_refunded', 'refund_reversed');
