-- When each last known and each first known value was told (µs), in the order of domain/events/traits.ts. An event may say some of them only: by one
-- time for all, a value that was told in between was taken for an older or a newer one than it was. Until something is told of a user again, the
-- times are those of known_at, attributed_at and first_known_at, which are not written any more.
alter table users add column told_times bigint[];
