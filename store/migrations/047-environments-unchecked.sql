-- Environments are never deleted, and every key that names one was looked up. To look up the environment of each mark, subscription and new user once more
-- cost more than the row of a mark itself: Postgres plans the check at each row in a session without generic plans.
alter table stale_users drop constraint stale_users_environment_fkey;
alter table subscriptions drop constraint subscriptions_environment_fkey;
alter table users drop constraint users_environment_fkey;

-- Each event of a known user writes the user's row anew, without an entry in any of its indexes while the new version finds space on the page.
alter table users set (fillfactor = 70);
