-- With the end of access: the purchases of a product that give access now are read without those of the past.
create index purchases_by_product_and_end on purchases (store_product_id, environment, platform, access_until);
-- What was recorded while no product linked it, for the list of such products. Most installations have none.
create index purchases_unmapped on purchases (environment, platform, store_product_id, coalesce(base_plan_id, ''), id) where is_unmapped;

-- The offering that a variant was copied from; null: a regular offering, or a copy of before.
alter table offerings add column copied_from text collate "C";
create index offerings_by_source on offerings (environment, copied_from) where copied_from is not null;
